# SPDX-License-Identifier: Apache-2.0
"""Programs over several devices: some axes of a mesh, and exported ones."""

import contextlib
import itertools
import math

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import export
import jax.numpy as jnp
from jax.sharding import AxisType
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import rms_norm
from jax_ffi_ops.kit.calls.loop_axes import LoopAxes
from jax_ffi_ops.kit.primitives import mesh_axes
from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.cases.programs import Program

_KINDS = (AxisType.Auto, AxisType.Explicit)


def _normal(*shape, seed=0):
  return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def _gradients(x, scale):
  loss = lambda x, scale: jnp.sum(jnp.sin(rms_norm(x, scale)))
  return jax.grad(loss, (0, 1))(x, scale)


# Of each example by itself: sums over some of the axes that x is split over.
_gradients_per_example = jax.vmap(_gradients, (0, None))


def _mesh(kinds, **axes):
  mesh = devices.mesh(**axes)
  return jax.sharding.Mesh(mesh.devices, mesh.axis_names, axis_types=kinds)


def _export(function, *args):
  exporting = export.export(
      jax.jit(function), disabled_checks=kit.export_checks(rms_norm)
  )
  return exporting(*args)


class LoopAxesTest(parameterized.TestCase):

  @parameterized.parameters(
      ((8, 8), (P("a", "b"), P("b")), {0: ("a",), 1: ("b",)}),
      ((8, 8), (P(("a", "b")), P()), {0: ("a", "b")}),
      # The first one wins; no axis of the mesh splits two dimensions.
      ((8, 8), (P(None, "a"), P("b")), {1: ("a",)}),
      ((8, 8), (P("a"), P("a")), {0: ("a",)}),
      ((8, 8), (P("a"), P(("a", "b"))), {0: ("a",)}),
      ((8, 8), (P(), P("b")), {1: ("b",)}),
      # Uneven shards; those of one piece; the core, without elements and with.
      ((3, 8), (P("a", "b"), P()), {1: ("b",)}),
      ((8, 6), (P("a", "b"), P()), {0: ("a",)}),
      ((8, 8), (P("one", "b"), P()), {0: ("one",), 1: ("b",)}),
      ((8, 8, 16), (P(None, None, "b"), P()), {2: ("b",)}),
      ((8, 8, 16), (P(None, None, "one"), P()), {}),
      ((8, 8, 0), (P(None, None, "b"), P()), {}),
      ((8, 8, 6), (P(None, None, "b"), P()), {}),
  )
  def test_split(self, shape, specs, expected):
    axes = LoopAxes([(0, 1, 2), (1,)], [(0, 1, 2)], 2)
    mesh = devices.mesh(one=1, a=2, b=4)
    found = axes.split(mesh, (shape, shape[1:2]), specs)
    self.assertEqual(found, expected)

  def test_loops_that_all_have(self):
    for operands, results, rank in (
        ([(0, 1, None)], [(0, 1)], 2),
        ([(0, 1, None), (0, None)], [(0, 1)], 1),
        ([(0, 1, None), ()], [(0, 1)], 0),
        ([(0, 1, None)], [(0, 1), (None, 1)], 0),
        ([(0, 1, None)], [(0,), (0, 1)], 1),
    ):
      axes = LoopAxes(operands, results, 2)
      self.assertEqual(axes.batch_rank, rank)
      summed = [[d for d in (0, 1) if d not in own] for own in results]
      self.assertEqual(list(map(axes.summed, range(len(results)))), summed)


class KitShardingTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(kit.using("handler if served"))
    self.x = _normal(8, 8, 16)
    self.scale = _normal(16, seed=1)
    self.args = (self.x, self.scale)

  def place(self, mesh, spec):
    return (
        jax.device_put(self.x, NamedSharding(mesh, spec)),
        jax.device_put(self.scale, NamedSharding(mesh, P())),
    )

  def check(self, program, function, *placed):
    for got, want in zip(program(*placed), function(*self.args), strict=True):
      np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)

  def opcodes(self, program):
    return {x.opcode for x in program.collectives()}

  @parameterized.parameters(*itertools.permutations("abc"))
  def test_automatic_axes_in_any_order(self, manual, first, second):
    """XLA numbers the devices of a group in the order of the first result."""
    mesh = devices.mesh(a=2, b=2, c=2)
    placed = self.place(mesh, P((manual, first), second))

    def on_each(x, scale):
      # Else the gradients would be summed over the devices.
      scale = jax.lax.pcast(scale, manual, to="varying")
      return _gradients_per_example(x, scale)

    function = jax.shard_map(
        on_each,
        mesh=mesh,
        in_specs=(P(manual), P()),
        out_specs=P(manual),
        axis_names={manual},
    )
    program = Program(function, *placed)
    self.assertEqual(self.opcodes(program), {"all-reduce"})
    self.check(program, _gradients_per_example, *placed)

  def test_automatic_axis_in_nested_shard_maps(self):
    mesh = devices.mesh(a=2, b=2, c=2)
    placed = self.place(mesh, P("a", ("b", "c")))
    function = _gradients
    for axis, spec in (("b", P(None, "b")), ("a", P("a"))):
      specs = (spec, P())
      function = jax.shard_map(
          function, in_specs=specs, out_specs=specs, axis_names={axis}
      )
    with jax.set_mesh(mesh):
      program = Program(function, *placed)
      self.assertEqual(self.opcodes(program), {"all-reduce"})
      self.check(program, _gradients, *placed)

  @parameterized.product(
      kinds=[k for k in itertools.product(_KINDS, repeat=2) if len({*k}) > 1],
      set_mesh=(False, True),
      dtype=("float32", "bfloat16"),
  )
  def test_explicit_and_automatic_axes(self, kinds, set_mesh, dtype):
    mesh = _mesh(kinds, a=4, b=2)
    x, scale = (x.astype(dtype) for x in self.place(mesh, P("a", "b")))
    with jax.set_mesh(mesh) if set_mesh else contextlib.nullcontext():
      program = Program(_gradients, x, scale)
      actual = program(x, scale)
    self.assertEqual(self.opcodes(program), {"all-reduce"})
    # Sums of 64 terms, some of which are rounded, and so are parts of them.
    allowed = 64 * float(jnp.finfo(dtype).eps)
    args = (x.astype(dtype).astype(np.float32) for x in self.args)
    for got, want in zip(actual, _gradients(*args), strict=True):
      got = np.asarray(got, np.float32)
      np.testing.assert_allclose(got, want, rtol=allowed, atol=allowed)

  @parameterized.parameters(
      ([0, 1, 2, 3, 4, 5], ["a", "b"]),
      ([0, 2, 4, 1, 3, 5], ["b", "a"]),
      ([0, 3, 1, 4, 2, 5], None),
      (None, None),
  )
  def test_order_of_axes(self, numbers, expected):
    numbers = numbers and np.array(numbers)
    found = mesh_axes.in_order({"a": 2, "b": 3}, numbers)
    self.assertEqual(found and list(found), expected)

  def test_axes_without_an_order(self):
    mesh = devices.mesh(a=2, b=4)
    placed = self.place(mesh, P("a", "b"))
    function = jax.shard_map(
        _gradients,
        mesh=mesh,
        in_specs=(P("a"), P()),
        out_specs=(P("a"), P()),
        axis_names={"a"},
    )
    with absltest.mock.patch.object(mesh_axes, "in_order", return_value=None):
      program = Program(function, *placed)
    self.assertIn("all-gather", self.opcodes(program))
    self.check(program, _gradients, *placed)

  @parameterized.parameters(
      ("x alone", P("a", "b"), set()),
      ("x alone", P(("b", "a")), set()),
      ("one scale", P("a", "b"), {"all-gather"}),
      ("a scale each", P("a", "b"), set()),
      ("a scale for some", P("a"), set()),
      ("a scale for some", P(None, "a"), {"all-gather"}),
  )
  def test_exported(self, operands, spec, opcodes):
    """Split are the first loop dimensions, if all operands have them."""
    functions = {
        "x alone": lambda x, scale: _gradients(x, None),
        "one scale": _gradients,
        "a scale each": jax.vmap(jax.vmap(_gradients)),
        "a scale for some": jax.vmap(_gradients),
    }
    loops = {"a scale each": (8, 8), "a scale for some": (8,)}
    mesh = devices.mesh(a=4, b=2)
    loops = loops.get(operands, ())
    scale = _normal(*loops, 16)
    args = self.x, scale
    placed = [
        jax.device_put(x, NamedSharding(mesh, P(*spec[: x.ndim - 1])))
        for x in args
    ]
    called = jax.jit(_export(functions[operands], *placed).call)
    program = Program(called, *placed)
    self.assertEqual(self.opcodes(program), opcodes)
    expected = functions[operands](*args)
    for got, want in zip(
        jax.tree.leaves(program(*placed)),
        jax.tree.leaves(expected),
        strict=True,
    ):
      np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)

  def test_exported_with_uneven_shards(self):
    """XLA pads them: the handler gets rows that nobody asked for."""
    mesh = devices.mesh(a=4)
    whole = NamedSharding(mesh, P())

    def function(x):  # jax 0.9.2 can neither take nor return uneven shards.
      split = jax.lax.with_sharding_constraint(
          x * 1, NamedSharding(mesh, P("a"))
      )
      return jax.lax.with_sharding_constraint(rms_norm(split), whole)

    x = jax.device_put(self.x[:6], whole)
    program = Program(_export(function, x).call, x)
    (rows,) = {
        x.elements // math.prod(self.x.shape[1:])
        for x in program.instructions.values()
        if x.opcode == "custom-call"
    }
    self.assertEqual(rows, 2)
    np.testing.assert_allclose(program(x), rms_norm(self.x[:6]), rtol=1e-6)

  def test_exported_for_one_device(self):
    """No attribute more than the handler needs."""
    text = _export(rms_norm, self.x).mlir_module()
    self.assertNotIn("num_batch_dims", text)
    self.assertNotIn("sdy", text)

  def test_exported_with_symbolic_sizes(self):
    """Shardy has no rule for them."""
    (rows,) = export.symbolic_shape("rows")
    sharding = NamedSharding(devices.mesh(a=4), P(None, "a"))
    aval = jax.ShapeDtypeStruct((rows, 8, 16), "float32", sharding=sharding)
    called = _export(rms_norm, aval).call
    x = jax.device_put(self.x, sharding)
    np.testing.assert_array_equal(jax.jit(called)(x), rms_norm(self.x))


if __name__ == "__main__":
  absltest.main()
