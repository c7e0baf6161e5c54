# SPDX-License-Identifier: Apache-2.0
"""Calls of linear algebra that jax ships to test other backends with."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import matrices
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import linalg
from jax_ffi_ops.kit.testing.cases import devices


def _cholesky(harness, a):
  del harness
  return linalg.cholesky(a, symmetrize_input=False)


def _qr(harness, a):
  full = harness.params["full_matrices"]
  return tuple(linalg.qr(a, "complete" if full else "reduced"))


def _svd(harness, a, *_):
  full, vectors = (harness.params[x] for x in ("full_matrices", "compute_uv"))
  if not vectors:
    return (linalg.svd(a, full, compute_uv=False),)
  u, s, vt = linalg.svd(a, full)
  return s, u, vt


def _eigh(harness, a, *_):
  is_lower = harness.params["lower"]
  half = jnp.tril(a) if is_lower else jnp.triu(a)
  w, v = linalg.eigh(half, "L" if is_lower else "U", symmetrize_input=False)
  return v, w


def _lu(harness, a):
  del harness
  lu, pivots = linalg.lu_factor(a)
  order = jax.lax.linalg.lu_pivots_to_permutation(pivots, a.shape[-2])
  return lu, pivots, order


def _triangular_solve(harness, a, b):
  options = harness.params
  transposes = options["tranpose_a"]  # As jax spells it.
  if options["conjugate_a"]:
    a = jnp.conj(a)
  if not options["left_side"]:  # x op(A) = b: op(A)^T x^T = b^T
    transposes, b = not transposes, b.mT
  x = linalg.solve_triangular(
      a, b, int(transposes), options["lower"], options["unit_diagonal"]
  )
  return x if options["left_side"] else x.mT


def _solve(harness, a, b, *_):
  del harness
  return linalg.solve(a, b)


_OURS = {
    "cholesky": _cholesky,
    "custom_linear_solve": _solve,
    "eigh": _eigh,
    "lu": _lu,
    "qr": _qr,
    "svd": _svd,
    "triangular_solve": _triangular_solve,
}


def _product(factors):
  """Returns what vectors, of which each may have any sign, are factors of."""
  if len(factors) == 2:
    v, w = factors
    return v * w[..., None, :] @ v.conj().swapaxes(-1, -2)
  s, u, vt = factors
  k = s.shape[-1]
  return u[..., :k] * s[..., None, :] @ vt[..., :k, :]


class HarnessesTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # It starts jax: the suite has asked for eight devices before.
    from jax._src.internal_test_util import test_harnesses  # pylint: disable=g-import-not-at-top

    cls._harnesses = test_harnesses.all_harnesses

  def setUp(self):
    super().setUp()
    self.enter_context(kit.using("handler if served"))
    self.enter_context(devices.on_cpu())

  def _compare(self, found, wanted, dtype):
    near = 2**10 * float(jnp.finfo(dtype).eps)
    found, wanted = map(jax.tree.leaves, (found, wanted))
    for x, y in zip(found, wanted, strict=True):
      self.assertEqual((x.shape, x.dtype), (y.shape, y.dtype))
      if not jnp.issubdtype(x.dtype, jnp.inexact):
        np.testing.assert_array_equal(x, y)
        continue
      x, y = (matrices.wide(np.asarray(each)) for each in (x, y))
      np.testing.assert_allclose(
          x, y, near, near * np.max(np.abs(y), initial=0)
      )

  @parameterized.parameters(*_OURS)
  def test_as_jax(self, group):
    harnesses = [
        x for x in self._harnesses if x.group_name == group and x.filter("cpu")
    ]
    self.assertNotEmpty(harnesses)
    for harness in harnesses:
      with self.subTest(harness.fullname):
        operands = harness.dyn_args_maker(np.random.RandomState(0))
        ours = functools.partial(_OURS[group], harness)
        found = jax.jit(ours)(*operands)
        wanted = jax.jit(harness.dyn_fun)(*operands)
        if group == "cholesky":  # The primitive leaves A above.
          wanted = jnp.tril(wanted)
        if group in ("eigh", "svd") and len(wanted) > 1:
          for x, y in zip(found, wanted, strict=True):
            self.assertEqual(x.shape, y.shape)
          values = [x[1 if group == "eigh" else 0] for x in (found, wanted)]
          products = [_product(list(map(np.asarray, found))), operands[0]]
          found, wanted = zip(values, products)
        self._compare(found, wanted, harness.dtype)


if __name__ == "__main__":
  absltest.main()
