# SPDX-License-Identifier: Apache-2.0
"""The collectives of each way, forward, backward and exported."""

import re

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import export
from jax.sharding import AxisType
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
import numpy as np
import sharding_by_hand

jax.config.update("jax_num_cpu_devices", 4)

_TARGETS = ("example_scale_fwd", "example_scale_gradient")
_COLLECTIVE = re.compile(
    r" (all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)"
    r"(?:-start)?\("
)


def _mesh():
  return jax.make_mesh((4,), ("rows",), axis_types=(AxisType.Auto,))


def _arrays(spec=P("rows")):
  """Returns x, split, and w, whole on each device. Their sums are exact."""
  random = np.random.default_rng(0)
  x = random.integers(-5, 5, (8, 4)).astype(np.float32)
  w = random.integers(-5, 5, 4).astype(np.float32)
  mesh = _mesh()
  return (
      jax.device_put(x, NamedSharding(mesh, spec)),
      jax.device_put(w, NamedSharding(mesh, P())),
  )


def _function(name):
  if name == "in_shard_map":
    return sharding_by_hand.in_shard_map(_mesh())
  return getattr(sharding_by_hand, name)


def _gradient(function):
  return jax.grad(lambda x, w: (function(x, w) ** 2).sum() / 2, (0, 1))


def _compile(function, *operands):
  """Returns the program, and what it sends between devices."""
  program = jax.jit(function).lower(*operands).compile()
  return program, sorted(_COLLECTIVE.findall(program.as_text()))


class ShardingByHandTest(parameterized.TestCase):

  @parameterized.parameters(
      ("plain", ["all-gather"], P()),
      ("in_shard_map", [], P("rows")),
      ("partitioned", [], P("rows")),
      ("batch_partitionable", [], P("rows")),
      ("op", [], P("rows")),
  )
  def test_forward(self, name, collectives, spec):
    x, w = _arrays()
    program, found = _compile(_function(name), x, w)
    self.assertEqual(found, collectives)
    y = program(x, w)
    self.assertTrue(
        y.sharding.is_equivalent_to(NamedSharding(_mesh(), spec), 2)
    )
    np.testing.assert_array_equal(y, np.asarray(x) * np.asarray(w))

  @parameterized.parameters(
      ("plain", ["all-gather"]),
      ("in_shard_map", ["all-reduce"]),
      ("partitioned", ["all-reduce"]),
      ("op", ["all-reduce"]),
  )
  def test_gradient(self, name, collectives):
    """Only the weight's gradient has to be summed over the devices."""
    x, w = _arrays()
    program, found = _compile(_gradient(_function(name)), x, w)
    self.assertEqual(found, collectives)
    dx, dw = program(x, w)
    x, w = np.asarray(x), np.asarray(w)
    np.testing.assert_array_equal(dx, x * w * w)
    np.testing.assert_array_equal(dw, (x * x * w).sum(0))

  @parameterized.parameters(
      "plain", "in_shard_map", "partitioned", "batch_partitionable", "op"
  )
  def test_split_by_columns(self, name):
    """No way splits what a row needs; XLA sends what is missing."""
    x, w = _arrays(P(None, "rows"))
    program, found = _compile(_function(name), x, w)
    self.assertNotEmpty(found)
    np.testing.assert_array_equal(program(x, w), np.asarray(x) * np.asarray(w))
    if name != "batch_partitionable":
      dx, dw = jax.jit(_gradient(_function(name)))(x, w)
      x, w = np.asarray(x), np.asarray(w)
      np.testing.assert_array_equal(dx, x * w * w)
      np.testing.assert_array_equal(dw, (x * x * w).sum(0))

  @parameterized.parameters(
      ("plain", ["all-gather"]),
      ("in_shard_map", []),
      ("batch_partitionable", []),
      ("op", ["all-gather"]),
  )
  def test_export(self, name, collectives):
    x, w = _arrays()
    checks = [export.DisabledSafetyCheck.custom_call(t) for t in _TARGETS]
    program = export.export(jax.jit(_function(name)), disabled_checks=checks)
    _, found = _compile(program(x, w).call, x, w)
    self.assertEqual(found, collectives)

  def test_custom_partitioning_is_not_exported(self):
    """Its rule is a Python function."""
    with self.assertRaises(NotImplementedError):
      export.export(jax.jit(sharding_by_hand.partitioned))(*_arrays())

  @parameterized.parameters(
      ("f4", (8, 4), "f4", (3,), (8, 4), "w must"),
      ("i4", (8, 4), "f4", (4,), (8, 4), "x must"),
      ("f4", (8, 4), "i4", (4,), (8, 4), "w must"),
      ("f4", (8, 4), "f4", (2, 4), (8, 4), "w must"),
      ("f4", (8, 4), "f4", (4,), (9, 4), "y must"),
  )
  def test_forward_checks(self, x_dtype, x, w_dtype, w, y, message):
    call = jax.ffi.ffi_call(_TARGETS[0], jax.ShapeDtypeStruct(y, "f4"))
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, message):
      jax.block_until_ready(call(np.zeros(x, x_dtype), np.zeros(w, w_dtype)))

  @parameterized.parameters(
      ((8, 4), (3,), (8, 4), (8, 4), (4,), r"got .* w \[3\]"),
      ((8, 4), (4,), (9, 4), (8, 4), (4,), r"got .* dy \[9, 4\]"),
      ((8, 4), (4,), (8, 4), (8, 5), (4,), r"got .* dx \[8, 5\]"),
      ((8, 4), (4,), (8, 4), (8, 4), (5,), r"got .* dw \[5\]"),
      ((2, 8, 4), (4,), (8, 4), (8, 4), (4,), "expected 2 but got 3"),
  )
  def test_backward_checks(self, x, w, dy, dx, dw, message):
    results = [jax.ShapeDtypeStruct(shape, "f4") for shape in (dx, dw)]
    operands = [np.zeros(shape, "f4") for shape in (x, w, dy)]
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, message):
      jax.block_until_ready(jax.ffi.ffi_call(_TARGETS[1], results)(*operands))


if __name__ == "__main__":
  absltest.main()
