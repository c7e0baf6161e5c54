# SPDX-License-Identifier: Apache-2.0
"""The static parameter of primitives: what is equal, and what it prints."""

import dataclasses

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import layer_norm
from jax_ffi_ops import rms_norm
from jax_ffi_ops.kit.calls.backward import BackwardCall
from jax_ffi_ops.kit.calls.backward import Dropped
from jax_ffi_ops.kit.calls.choice import Preference
from jax_ffi_ops.kit.calls.tangent import TangentCall
from jax_ffi_ops.kit.declare.value import Value

_X = jax.ShapeDtypeStruct((5, 7, 16), np.float32)
_W = jax.ShapeDtypeStruct((16,), np.float32)


def _forward(eps=1e-6):
  """Returns a call as a program has it."""
  jaxpr = jax.make_jaxpr(lambda x, w: rms_norm(x, w, eps=eps))(_X, _W)
  (equation,) = jaxpr.eqns
  return equation.params["call"]


def _backward(**changes):
  return dataclasses.replace(BackwardCall(_forward(), 0, ("y",)), **changes)


class KitCallsTest(parameterized.TestCase):

  def test_equal_calls(self):
    self.assertEqual(_forward(), _forward())
    self.assertEqual(hash(_forward()), hash(_forward()))
    self.assertEqual(_backward(), _backward())
    self.assertNotEqual(_forward(), _backward())

  def test_calls_that_differ(self):
    calls = [
        _forward(),
        _forward(eps=0.0),
        _forward(eps=-0.0),
        dataclasses.replace(_forward(), present=1),
        TangentCall(_forward(), (True, True)),
        TangentCall(_forward(), (True, False)),
        _backward(),
        _backward(batch_rank=1),
        _backward(unwanted=("x",)),
        _backward(dropped=(Dropped("x", np.dtype(np.float32), False),)),
        _backward(dropped=(Dropped("x", np.dtype(np.float64), False),)),
    ]
    self.assertLen(set(calls), len(calls))
    # Compilation caches know a call by what it prints.
    self.assertLen(set(map(repr, calls)), len(calls))
    for call in calls:
      self.assertNotRegex(repr(call), r"0x|\n")
      self.assertLess(len(repr(call)), 80)

  def test_every_field_tells_calls_apart(self):
    """Caches of jax know a call by all that is static in it."""
    forward = _forward()
    other = dataclasses.replace(forward.declared, name="other")
    dropped = Dropped("x", np.dtype(np.float32), False)
    # Of one call, values of a field that are all different.
    for call, changes in (
        (forward, {
            "declared": [other],
            "attributes": [_forward(eps=0.5).attributes],
            "present": [None, 1],
            "trailing_rank": [0, 1],
            "preference": [x for x in Preference if x is not forward.preference],
            "in_place": [True],
        }),
        (TangentCall(forward, (True, True)), {
            "forward": [_forward(eps=0.5)],
            "active": [(True, False), (False, True)],
        }),
        (_backward(), {
            "forward": [_forward(eps=0.5)],
            "batch_rank": [1, 2],
            "outputs": [()],
            "dropped": [(dropped,), (dropped._replace(is_shared=True),)],
            "sizes": [(("d", 1),), (("d", 2),)],
            "transposed": [True],
            "unwanted": [("x",), ("scale",)],
        }),
    ):  # fmt: skip
      fields = {field.name for field in dataclasses.fields(call)}
      self.assertEqual(fields, set(changes))
      every, printed = [call], [repr(call)]
      for name, values in changes.items():
        others = [dataclasses.replace(call, **{name: x}) for x in values]
        every += others
        # What caches of programs see in the target, or in the types of results.
        if name not in ("declared", "dropped", "sizes", "transposed"):
          printed += map(repr, others)
      self.assertLen(set(every), len(every))
      self.assertLen(set(printed), len(printed))

  @parameterized.parameters(
      (np.arange(3.0), np.arange(3.0) + 1e-12),
      (np.arange(3.0), np.array([0.0, 1.0, -2.0])),
      (np.arange(5000), np.where(np.arange(5000) == 2500, 0, np.arange(5000))),
      (np.arange(5000), np.arange(5000).astype(np.int32)),
      (np.arange(5000), np.arange(5001)),
      (np.float64(0.0), np.float64(-0.0)),
      ("1", np.int64(1)),
      (np.bool_(True), np.int64(1)),
  )
  def test_values_that_differ(self, first, second):
    first, second = Value(first), Value(second)
    self.assertNotEqual(first, second)
    self.assertNotEqual(repr(first), repr(second))
    self.assertLess(len(repr(first)), 100)

  def test_types_of_a_call(self):
    """A weight that rows share has one gradient per loop index."""
    rstd = _X.update(shape=(5, 7))
    arrays = [_X, _W.update(shape=(5, 16)), rstd, _X]
    gradients = _backward(batch_rank=1).gradients(arrays)
    shapes = {name: x.parts.shape for name, x in gradients.items()}
    self.assertEqual(shapes, {"x": (5, 7, 16), "scale": (5, 16)})
    received = _backward(batch_rank=1).received("cpu", arrays)
    self.assertEqual(received.target, "xla_ffi_ops_rms_norm_bwd")
    self.assertEqual(list(received.operands), ["x", "scale", "rstd", "dy"])
    self.assertEqual(list(received.results), ["dx", "dscale"])
    self.assertEqual(
        {n: type(x) for n, x in received.attributes.items()},
        {
            "eps": np.float64,
            "present": np.int64,
            "batch_rank": np.int64,
            "wanted": np.int64,
        },
    )
    on_cuda = _backward(batch_rank=1).received("cuda", arrays)
    self.assertEqual(
        list(on_cuda.results), ["dx", "dscale", "dscale_workspace"]
    )

  @parameterized.parameters(
      ("float32", ("float32", "float32"), ("float32", "float32")),
      ("float32", ("float16", "bfloat16"), ("float32", "float32")),
      ("float32", ("float32", "float64"), ("float32", "float64")),
      ("float64", ("float32", "float64"), ("float64", "float64")),
      ("bfloat16", ("bfloat16", "bfloat16"), ("bfloat16", "bfloat16")),
      ("bfloat16", ("bfloat16", "float16"), ("float32", "float32")),
      ("bfloat16", ("float32", "float32"), ("float32", "float32")),
      ("bfloat16", ("float64", "bfloat16"), ("float64", "bfloat16")),
  )
  def test_dtypes_of_weights(self, x, given, expected):
    """They get that of x, if all have it, or that of sums; none loses bits."""
    with jax.enable_x64(True):
      arrays = jnp.ones((2, 16), x), *(jnp.ones(16, w) for w in given)
      *_, call = jax.make_jaxpr(layer_norm)(*arrays).eqns
      self.assertEqual(call.primitive.name, "layer_norm")
      own = [v.aval.dtype for v in call.invars]
      self.assertEqual(own, [x, *expected])
      reason = (
          call.params["call"]
          .decided("cpu", [v.aval for v in call.invars])
          .reason
      )
      is_served = "float64" not in expected or x == "float64"
      self.assertEqual("dtype" not in reason, is_served, reason)

  @parameterized.parameters(
      ((0, 1), 0b11, ["dx", "dscale", "dscale_workspace"]),
      ((0,), 0b01, ["dx"]),
      ((1,), 0b10, ["dscale", "dscale_workspace"]),
  )
  def test_gradients_that_are_wanted(self, argnums, wanted, results):
    """jax.grad decides what the handler computes."""
    x, scale = jnp.ones(_X.shape), jnp.ones(16)
    gradient = jax.grad(lambda *xs: jnp.sum(rms_norm(*xs)), argnums)
    equations = jax.make_jaxpr(gradient)(x, scale).eqns
    (call,) = [e for e in equations if e.primitive.name == "rms_norm_bwd"]
    received = call.params["call"].received(
        "cuda", [v.aval for v in call.invars]
    )
    self.assertEqual(received.attributes["wanted"], wanted)
    self.assertEqual(list(received.results), results)
    self.assertEqual(len(call.outvars), len(argnums))


if __name__ == "__main__":
  absltest.main()
