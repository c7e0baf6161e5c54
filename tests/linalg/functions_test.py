# SPDX-License-Identifier: Apache-2.0
"""Functions of linalg have the errors of their namesakes, and keep factors."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import export
import jax.numpy as jnp
import jax.scipy.linalg
import matrices
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import linalg

_NAMESAKES = {
    "cholesky": jnp.linalg.cholesky,
    "cho_factor": jax.scipy.linalg.cho_factor,
    "cho_solve": jax.scipy.linalg.cho_solve,
    "det": jnp.linalg.det,
    "inv": jnp.linalg.inv,
    "lu_factor": jax.scipy.linalg.lu_factor,
    "lu_solve": jax.scipy.linalg.lu_solve,
    "slogdet": jnp.linalg.slogdet,
    "solve": jnp.linalg.solve,
    "solve_triangular": jax.scipy.linalg.solve_triangular,
}
_SQUARE = ("cholesky", "det", "inv", "slogdet")


def _definite(n, dtype, batch=(3,)):
  """Hermitian; eigenvalues are between 1 and 4."""
  x = matrices.normal(n, (*batch, n, n), dtype)
  x = x + matrices.adjoint(x)
  size = np.abs(x).sum(-1).max(-1)[..., None, None] if n else 1
  return (1.5 * x / size + 2.5 * np.eye(n)).astype(dtype)


def _leaves(x):
  return [np.asarray(leaf) for leaf in jax.tree.leaves(x)]


def _pipeline(name, module):
  """Returns a function of a, [..., n, n], and b, [..., n, k].

  Functions that take factors are called with those of `module`, a pair of
  namespaces: of NumPy's functions, and of SciPy's.
  """
  first, second = module
  if name in _SQUARE:
    return lambda a, b: getattr(first, name)(a)
  if name == "solve":
    return lambda a, b: first.solve(a, b)
  if name == "solve_triangular":
    return lambda a, b: second.solve_triangular(a, b, trans=1, lower=True)
  if name == "cho_factor":
    return lambda a, b: jnp.tril(second.cho_factor(a, lower=True)[0])
  if name == "lu_factor":
    return lambda a, b: second.lu_factor(a)
  if name == "cho_solve":
    return lambda a, b: second.cho_solve(second.cho_factor(a), b)
  return lambda a, b: second.lu_solve(second.lu_factor(a), b, trans=2)


_OURS = linalg, linalg
_JAXS = jnp.linalg, jax.scipy.linalg


class FunctionsTest(matrices.MatrixTest):

  def _compare(self, found, wanted, condition=16):
    """Compares dtypes, shapes and values of matrices of a small condition."""
    found, wanted = _leaves(found), _leaves(wanted)
    for x, y in zip(found, wanted, strict=True):
      self.assertEqual((x.dtype, x.shape), (y.dtype, y.shape))
      if not np.issubdtype(x.dtype, np.inexact):
        np.testing.assert_array_equal(x, y)
        continue
      near = condition * 32 * jnp.finfo(x.dtype).eps
      np.testing.assert_allclose(
          x, y, near, near * np.max(np.abs(y), initial=0)
      )

  @parameterized.parameters(*sorted(_NAMESAKES))
  def test_errors(self, name):
    """Types and texts of errors are those of jax."""
    ours, theirs = getattr(linalg, name), _NAMESAKES[name]
    one, a, b = np.ones((3, 3)), np.ones((2, 3)), np.ones(4)
    wrong = [
        (one[0],),
        (a,),
        (np.ones((2, 2, 3)),),
        (np.float64(1),),
        ([[1.0, 2.0], [2.0, 1.0]],),
        (None,),
        ("a",),
    ]
    if name in ("solve", "solve_triangular"):
      wrong = [(*x, b[:3]) for x in wrong]
      wrong += [
          (one, b),
          (one, one[:2]),
          (one, np.float64(1)),
          (one, None),
          (a, one),
          (np.ones((2, 3, 3)), np.ones((3, 3, 1))),
          (one, [1.0, 2.0, 3.0]),
      ]
    if name == "solve_triangular":
      wrong += [(one, b[:3], "X"), (one, b[:3], 3), (one, b[:3], None)]
    if name == "cho_solve":
      wrong = [((one, True), b), ((a, True), b), (one, b), ((one, False), 1.0)]
    if name == "lu_solve":
      pivots = np.arange(3, dtype=np.int32)
      wrong = [
          ((one, pivots), b),
          ((a, pivots), b),
          ((one, pivots), b[:3], 3),
          ((one, pivots), 1.0),
          ((one, pivots.astype(float)), b[:3]),
      ]
    for arguments in wrong:
      with self.subTest(str(arguments)):
        expected = _error(theirs, arguments)
        if expected is None:
          self._compare(ours(*arguments), theirs(*arguments))
        else:
          self.assertEqual(_error(ours, arguments), expected)

  @parameterized.parameters(np.float64, np.complex128)
  def test_gradient_of_det_at_singular_matrices(self, dtype):
    """It is the cofactors: of rank n - 1, and 0 for any lower rank."""
    for n in (2, 3, 4, 6):
      for rank in (n - 1, n - 2, 0):
        left, right = (matrices.normal(i, (n, rank), dtype) for i in (1, 2))
        a = left @ right.T
        gradient = jax.jit(jax.grad(lambda a: linalg.det(a).real))(a)
        wanted = _cofactors(a)
        near = 1e-10 * max(1, np.max(np.abs(wanted)))
        np.testing.assert_allclose(gradient, wanted, rtol=0, atol=near)

  def test_factors_are_kept(self):
    """A gradient of solve has one lu; one of lu_solve, none."""
    a, b = _definite(5, np.float64), np.ones((3, 5, 2))
    loss = lambda a, b: jnp.sum(linalg.solve(a, b))
    with kit.using("handler"):
      text = jax.jit(jax.grad(loss, (0, 1))).lower(a, b).as_text()
    self.assertEqual(text.count("@xla_ffi_ops_lu_fwd("), 1, text)
    factors = linalg.lu_factor(a)
    loss = lambda lu, b: jnp.sum(linalg.lu_solve((lu, factors[1]), b))
    with kit.using("handler"):
      text = jax.jit(jax.grad(loss, (0, 1))).lower(factors[0], b).as_text()
    self.assertNotIn("@xla_ffi_ops_lu_fwd(", text)

  @parameterized.parameters(*sorted(_NAMESAKES))
  def test_export_with_a_symbolic_batch(self, name):
    run = jax.jit(_pipeline(name, _OURS))
    a, b = _definite(4, np.float32, (5,)), np.ones((5, 4, 2), np.float32)
    shapes = [
        jax.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), x.dtype)
        for scope in [export.SymbolicScope()]
        for shape, x in (("n, 4, 4", a), ("n, 4, 2", b))
    ]
    checks = kit.export_checks(getattr(linalg, name))
    if name == "cho_solve":
      checks += kit.export_checks(linalg.cho_factor)
    if name == "lu_solve":
      checks += kit.export_checks(linalg.lu_factor)
    exported = export.export(run, disabled_checks=checks)(*shapes)
    self._compare(exported.call(a, b), run(a, b))


def _error(function, arguments):
  try:
    function(*arguments)
  except Exception as error:  # pylint: disable=broad-exception-caught
    return type(error), str(error)
  return None


def _cofactors(a):
  """The derivative of det by each element."""
  n = len(a)
  found = np.empty_like(a)
  for i, j in np.ndindex(n, n):
    minor = np.delete(np.delete(a, i, 0), j, 1)
    found[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
  return found


if __name__ == "__main__":
  absltest.main()
