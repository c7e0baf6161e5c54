# SPDX-License-Identifier: Apache-2.0
"""What each method does: a loop in the program, calls, and what they get."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np
from vmap_methods import BY_METHOD
from vmap_methods import by_rule
from vmap_methods import by_signature
from vmap_methods import calls

_ALL = (
    *(item for item in BY_METHOD.items() if item[0]),
    ("rule", by_rule),
    ("signature", by_signature),
)


def _random(*shape):
  return np.random.default_rng(len(shape)).normal(size=shape).astype("float32")


def _scans(function, *operands):
  """Returns how many iterations each scan unrolls."""
  jaxpr = jax.make_jaxpr(function)(*operands)
  return [e.params["unroll"] for e in jaxpr.eqns if e.primitive.name == "scan"]


def _calls():
  return np.array([int(x) for x in calls()])


class VmapMethodsTest(parameterized.TestCase):

  @parameterized.named_parameters(
      # scans, calls, and the rank and rows of w that all rows of x share
      ("sequential", BY_METHOD["sequential"], [1], 5, 1, 1),
      ("unrolled", BY_METHOD["sequential_unrolled"], [5], 5, 1, 1),
      ("expand_dims", BY_METHOD["expand_dims"], [], 1, 2, 1),
      ("broadcast_all", BY_METHOD["broadcast_all"], [], 1, 2, 5),
      ("vectorized", BY_METHOD["legacy_vectorized"], [], 1, 1, 1),
      ("rule", by_rule, [], 1, 2, 1),
      ("signature", by_signature, [], 1, 1, 1),
  )
  def test_calls(self, dot, scans, count, rank, rows):
    x, w = _random(5, 3), _random(3)
    mapped = jax.vmap(dot, in_axes=(0, None))
    self.assertEqual(_scans(mapped, x, w), scans)
    before, _, _ = _calls()
    np.testing.assert_allclose(jax.jit(mapped)(x, w), x @ w, rtol=1e-5)
    after, *last = _calls()
    self.assertEqual([after - before, *last], [count, rank, rows])

  @parameterized.named_parameters(*_ALL)
  def test_axes(self, dot):
    x, w = _random(3, 3), _random(3)
    for axes, expected in (
        ((0, None), x @ w),
        ((1, None), x.T @ w),
        ((0, 0), (x * x).sum(1)),
        ((1, 0), (x.T * x).sum(1)),
    ):
      found = jax.vmap(dot, axes)(x, w if axes[1] is None else x)
      np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=axes)
    found = jax.vmap(dot, (None, 0))(w, x)
    np.testing.assert_allclose(found, x @ w, rtol=1e-5)

  @parameterized.named_parameters(
      *(item for item in _ALL if item[0] != "legacy_vectorized")
  )
  def test_vmap_of_vmap(self, dot):
    x, w = _random(4, 3), _random(5, 3)
    found = jax.vmap(jax.vmap(dot, (None, 0)), (0, None))(x, w)
    np.testing.assert_allclose(found, x @ w.T, rtol=1e-5)
    found = jax.vmap(jax.vmap(dot, (0, None)), (None, 0))(x, w)
    np.testing.assert_allclose(found, w @ x.T, rtol=1e-5)

  def test_legacy_vectorized_loses_what_belongs_where(self):
    """Operands of vmap in vmap have axes whose level the handler cannot see."""
    dot = BY_METHOD["legacy_vectorized"]
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, r"w must .*\[4\], got shape \[5, 3\]"
    ):
      mapped = jax.vmap(jax.vmap(dot, (None, 0)), (0, None))
      jax.block_until_ready(mapped(_random(4, 3), _random(5, 3)))

  def test_no_method(self):
    with self.assertRaisesRegex(NotImplementedError, "vmap"):
      jax.vmap(BY_METHOD[None], (0, None))(_random(5, 3), _random(3))

  @parameterized.parameters(
      ((3,), (4,), (), "w must"),
      ((), (3,), (), "x must"),
      ((2, 3), (4, 3), (2,), "w must"),
      ((2, 3), (3,), (3,), "y must"),
  )
  def test_shapes_are_checked(self, x, w, y, message):
    call = jax.ffi.ffi_call("example_dot_fwd", jax.ShapeDtypeStruct(y, "f4"))
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, message):
      jax.block_until_ready(call(np.ones(x, "f4"), np.ones(w, "f4")))

  @parameterized.parameters(
      ("i4", "f4", "f4", "x"), ("f4", "i4", "f4", "w"), ("f4", "f4", "i4", "y")
  )
  def test_dtypes_are_checked(self, x, w, y, name):
    call = jax.ffi.ffi_call("example_dot_fwd", jax.ShapeDtypeStruct((), y))
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, f"{name} must have dtype float32, got int32"
    ):
      jax.block_until_ready(call(np.ones(3, x), np.ones(3, w)))


if __name__ == "__main__":
  absltest.main()
