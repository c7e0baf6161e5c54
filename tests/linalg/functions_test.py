# SPDX-License-Identifier: Apache-2.0
"""Functions of linalg against NumPy and SciPy, and against their namesakes."""

import re

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import export
import jax.numpy as jnp
import jax.scipy.linalg
from jax.sharding import AxisType
from jax.sharding import PartitionSpec
import matrices
import numpy as np
import scipy.linalg

from jax_ffi_ops import kit
from jax_ffi_ops import linalg

_NAMESAKES = {
    name: getattr(jnp.linalg, name, None) or getattr(jax.scipy.linalg, name)
    for name, function in vars(linalg).items()
    if callable(function)
}
# Quick tests have these alone.
_OF_SYSTEMS = (
    "cho_factor", "cho_solve", "cholesky", "det", "inv", "lu_factor",
    "lu_solve", "slogdet", "solve", "solve_triangular",
)  # fmt: skip
_OTHERS = tuple(sorted(_NAMESAKES.keys() - set(_OF_SYSTEMS)))


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
  if name == "eigh":
    return lambda a, b: _without_signs(*first.eigh(a))
  if name == "svd":
    return lambda a, b: _without_signs(*first.svd(a, full_matrices=False))
  if name == "norm":
    return lambda a, b: first.norm(a, "nuc", (-2, -1))
  if name == "matrix_power":
    return lambda a, b: (first.matrix_power(a, 3), first.matrix_power(a, -2))
  if name == "expm":
    return lambda a, b: second.expm(a)
  if hasattr(jnp.linalg, name) and name != "solve":
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


def _without_signs(*results):
  return tuple((x * x.conj()).real for x in results)


_OURS = linalg, linalg
_JAXS = jnp.linalg, jax.scipy.linalg


class _FunctionsTest(matrices.MatrixTest):

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

  def _check_errors(self, name):
    """Types and texts of errors are those of jax."""
    ours, theirs = getattr(linalg, name), _NAMESAKES[name]
    one, a, b = np.ones((3, 3)), np.ones((2, 3)), np.ones(4)
    wrong = [
        (one[0],),
        (a,),
        (np.ones((2, 2, 3)),),
        (np.float64(1),),
        ([[1.0, 2.0], [2.0, 1.0]],),
        (one.astype(np.longdouble),),  # jax has neither of these dtypes.
        (one.astype(object),),
        (jax.random.split(jax.random.key(0), (3, 3)),),
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
          ((one, pivots), b[:3], np.array(1)),
          ((one, pivots), 1.0),
          ((one, pivots.astype(float)), b[:3]),
      ]
    if name == "matrix_power":
      wrong = [(*x, 2) for x in wrong] + [(one, 1.5), (one, None)]
      wrong += [(one, np.array(2))]
    if name == "norm":
      wrong += [(one, "x"), (one, 2, (0, 0)), (one, 2, (0, 7)), (one, 2, 0.5)]
      wrong += [(one, 2, (0, 1), np.array(True))]
    if name == "pinv":
      wrong += [(np.ones((2, 2, 3)), np.array([0.1, 0.2]))]
    if name in ("eigh", "eigvalsh", "qr"):
      wrong += [(one, "x")]
    for arguments in wrong:
      with self.subTest(str(arguments)):
        expected = _error(theirs, arguments)
        if expected is None:
          results = [f(*arguments) for f in (ours, theirs)]
          if (
              name == "svd"
          ):  # Of the singular ones above, vectors are arbitrary.
            results = [x.S for x in results]
          self._compare(*results)
        else:
          self.assertEqual(_error(ours, arguments), expected)

  def _check_export(self, name):
    """With a symbolic batch."""
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


class FunctionsTest(_FunctionsTest):

  @parameterized.parameters(*_OF_SYSTEMS)
  def test_errors(self, name):
    self._check_errors(name)

  @parameterized.parameters(*_OF_SYSTEMS)
  def test_export(self, name):
    self._check_export(name)

  @parameterized.parameters(*sorted(_NAMESAKES))
  def test_rows_that_handlers_take(self, name):
    run = _pipeline(name, _OURS)
    for n in (32, 33):
      self.assert_runs_handler(run, np.ones((2, n, n)), np.ones((2, n, 1)), n=n)

  def test_explains_what_is_jaxs(self):
    why = "for up to 32 rows and columns of float32, float64"
    for a in (np.ones((2, 33, 33)), np.ones((2, 3, 3), np.complex64)):
      self.assertIn(why, kit.explain(linalg.svd, a))

  @parameterized.parameters(np.float64, np.complex128)
  def test_gradient_of_det_at_singular_matrices(self, dtype):
    """It is the cofactors: of rank n - 1, and 0 for any lower rank."""
    gradient = jax.jit(jax.grad(lambda a: linalg.det(a).real))
    for n in (2, 3, 4, 6):
      for rank in (n - 1, n - 2, 0):
        left, right = (matrices.normal(i, (n, rank), dtype) for i in (1, 2))
        # Of one more exchange of rows, signs are others.
        for a in (left @ right.T, np.roll(left, 1, 0) @ right.T):
          wanted = _cofactors(a)
          near = 1e-10 * max(1, np.max(np.abs(wanted)))
          np.testing.assert_allclose(gradient(a), wanted, rtol=0, atol=near)

  @parameterized.parameters(np.float32, np.complex64)
  def test_det_of_other_scales(self, dtype):
    """Products of some pivots overflow, or underflow; that of all does not."""
    a = _definite(4, dtype)
    wanted = np.linalg.det(a.astype(np.complex128))
    for scales in ((1e30, 1e30, 1e-30, 1e-30), (1e-30, 1e-30, 1e30, 1e30)):
      det = jax.jit(linalg.det)((a * np.array(scales)).astype(dtype))
      np.testing.assert_allclose(det, wanted, 1e-3)

  @parameterized.parameters(
      ("cholesky", "upper"), ("cholesky", "symmetrize_input"),
      ("cho_factor", "lower"), ("solve_triangular", "lower"),
      ("solve_triangular", "unit_diagonal"), ("eigh", "symmetrize_input"),
      ("eigvalsh", "symmetrize_input"), ("svd", "full_matrices"),
      ("svd", "compute_uv"), ("svd", "hermitian"), ("pinv", "hermitian"),
      ("expm", "upper_triangular"),
  )  # fmt: skip
  def test_flags(self, name, flag):
    """Integers and NumPy's bools count as what they are in a condition."""
    a = _definite(3, np.float32)
    arrays = (a, a) if name == "solve_triangular" else (a,)

    def program(value):
      run = lambda *x: getattr(linalg, name)(*x, **{flag: value})
      array = lambda *x: run(*x)[0] if name == "cho_factor" else run(*x)
      return jax.jit(array).lower(*arrays).as_text()

    for value in (0, 2, np.True_):
      self.assertEqual(program(value), program(bool(value)))

  def test_cho_solve(self):
    """With a factor in either triangle."""
    a, b = _definite(5, np.complex128), np.ones((3, 5, 2), np.complex128)
    for lower in (False, True):
      x = linalg.cho_solve(linalg.cho_factor(a, lower), b)
      self._compare(x, np.linalg.solve(a, b))

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

  def test_gradients_of_values_decompose_once(self):
    for function, handler in (
        (linalg.eigvalsh, "eigh"),
        (lambda a: linalg.norm(a, 2, (-2, -1)), "svd"),
    ):
      with kit.using("handler"):
        gradient = jax.jit(jax.grad(lambda a, f=function: jnp.sum(f(a))))
        text = gradient.lower(np.ones((3, 4, 4))).as_text()
      found = re.findall(r"@(xla_ffi_ops_\w+_fwd)\(", text)
      self.assertEqual(found, [f"xla_ffi_ops_{handler}_fwd"])


class MoreFunctionsTest(_FunctionsTest):

  @parameterized.parameters(*_OTHERS)
  def test_errors(self, name):
    self._check_errors(name)

  @parameterized.parameters(*_OTHERS)
  def test_export(self, name):
    self._check_export(name)

  @parameterized.parameters(*sorted(_NAMESAKES))
  def test_dtypes_and_shapes(self, name):
    """Integers, bool, two dtypes, vectors, batches: results are as jax's."""
    a, b = np.array([[4, 1, 0], [1, 5, 1], [0, 1, 6]]), np.array([1, 2, 3])
    many = np.stack([a, 2 * a])
    calls = [
        (a, b),
        (a.astype(np.int8), b > 1),
        (np.eye(3) > 0, b.astype(np.float32)),
        (a.astype(np.float32), b.astype(np.complex64)),
        (a.astype(np.complex64), b.astype(np.float64)),
        (a.astype(np.float16), b.astype(np.float16)),
        (many, np.stack([b, b], -1)[None]),
        (a[None].astype(np.float32), np.ones((2, 3, 4))),
        (np.zeros((2, 0, 0)), np.zeros((2, 0, 3))),
        # For jax.scipy.linalg, three vectors; for jax.numpy.linalg, a matrix.
        (np.stack([a, 2 * a, a]), np.arange(9).reshape(3, 3)),
    ]
    for x64 in (False, True):
      with jax.enable_x64(x64):
        for operands in map(_arrays, calls):
          with self.subTest(f"{x64=} {operands}"):
            found, wanted = (
                _outcome(_pipeline(name, module), operands)
                for module in (_OURS, _JAXS)
            )
            if isinstance(wanted, str) and jax.__version_info__ < (0, 10):
              continue  # Later versions take most of these, as we do.
            self.assertEqual(
                jax.tree.structure(found), jax.tree.structure(wanted)
            )
            if isinstance(wanted, str):
              self.assertEqual(found, wanted)
            else:
              # jax's expm squares once less than it has to.
              self._compare(found, wanted, 2**10 if name == "expm" else 16)

  @parameterized.parameters(*sorted(_NAMESAKES))
  def test_weak_types(self, name):
    """Integers times 2.0 have one: results have one where jax's do."""
    a, b = 2.0 * jnp.arange(9).reshape(3, 3), 2.0 * jnp.arange(3)
    calls = [(a, b), (a, np.float32(b)), (np.float32(a), b)]
    calls += [(a, np.arange(3)), (np.arange(9).reshape(3, 3), b)]
    # Of two dtypes, some functions of jax 0.9 take none.
    for operands in calls if jax.__version_info__ >= (0, 10) else calls[:1]:
      found, wanted = (
          [
              (x.shape, x.dtype, x.weak_type)
              for x in jax.tree.leaves(
                  jax.eval_shape(_pipeline(name, module), *operands)
              )
          ]
          for module in (_OURS, _JAXS)
      )
      self.assertEqual(found, wanted)

  @parameterized.parameters(*sorted(_NAMESAKES))
  def test_neighbours(self, name):
    """Matrices beside wrong ones keep their bits."""
    n = 5
    wrong = np.stack([_definite(n, np.float64, ())] * 16)
    for i, x in enumerate((np.nan, np.inf, -np.inf, 1e300)):
      wrong[i, 0, 0] = wrong[i + 4, n - 1, n - 1] = x
      wrong[i + 8, 1, 3] = wrong[i + 8, 3, 1] = x
    wrong[12:] *= np.array([0, -1, 1e300, 1e-310])[:, None, None]
    a, b = _definite(n, np.float64, (32,)), np.ones((32, n, 1))
    mixed = a.copy()
    mixed[::2] = wrong
    run = matrices.jit(_pipeline(name, _OURS))
    for x, y in zip(_leaves(run(mixed, b)), _leaves(run(a, b)), strict=True):
      np.testing.assert_array_equal(x[1::2], y[1::2])

  @parameterized.parameters(np.float64, np.complex128)
  def test_not_finite(self, dtype):
    """Signs of determinants, and NaNs of pseudo-inverses, are jax's."""
    functions = ("slogdet", {}), ("pinv", {}), ("pinv", {"hermitian": True})
    for n in (1, 3):
      a = np.stack([np.eye(n, dtype=dtype)] * 6)
      a[:, -1, -1] = np.nan, np.inf, -np.inf, np.nan, np.inf, 0
      a[3:5, 0, 0] = -0.0  # One is singular, too.
      for name, options in functions:
        found, wanted = (
            _leaves(jax.jit(lambda a, f=f: f(a, **options))(a))
            for f in (getattr(linalg, name), _NAMESAKES[name])
        )
        if name == "pinv":  # Of infinities, they are NaN here, and 0 in jax.
          rows = [0, 3, 5] if n > 1 else [0, 5]
          found, wanted = ([x[rows] for x in y] for y in (found, wanted))
        is_real = dtype == np.float64
        if options and is_real and jax.__version_info__ >= (0, 11):
          wanted = [np.array(x) for x in wanted]
          # jax 0.12 has 0 there, which hides it.
          wanted[0][np.isnan(a[rows]).any((1, 2))] = np.nan
        jax.tree.map(np.testing.assert_array_equal, found, wanted)

  # SciPy's expm has errors of 1000 epsilon: expm_test has a better one.
  @parameterized.product(
      name=sorted(_NAMESAKES.keys() - {"expm"}), dtype=matrices.DTYPES
  )
  def test_values(self, name, dtype):
    """As the same function of NumPy or SciPy, in more digits."""
    exact = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    for n in (1, 2, 3, 4, 6, 33):
      a = _definite(n, dtype)
      b = matrices.normal(n, (3, n, 2), dtype)
      found = jax.jit(_pipeline(name, _OURS))(a, b)
      run = _pipeline(name, (np.linalg, scipy.linalg))
      each = [run(*x) for x in zip(a.astype(exact), b.astype(exact))]
      wanted = [np.stack(x) for x in zip(*map(_leaves, each))]
      for x, y in zip(_leaves(found), wanted, strict=True):
        if x.dtype.kind == "i":
          np.testing.assert_array_equal(x, y)
          continue
        near = 64 * n * jnp.finfo(dtype).eps
        np.testing.assert_allclose(x, y, near, near * np.max(np.abs(y)))

  @parameterized.product(
      name=sorted(_NAMESAKES),
      call=((1, np.float64), (4, np.float64), (3, np.complex128)),
  )
  def test_derivatives(self, name, call):
    """The first and second ones, in each order of modes, are jax's."""
    n, dtype = call
    a, b = _definite(n, dtype, ()), matrices.normal(1, (n, 2), dtype)
    along = [matrices.normal(i, x.shape, dtype) for i, x in enumerate((a, b))]
    results = []
    for module in (_OURS, _JAXS):

      def loss(a, b, run=_pipeline(name, module)):
        leaves = [x for x in jax.tree.leaves(run(a, b)) if x.dtype != "int32"]
        weights = [
            matrices.normal(4, x.shape, np.float64).astype(x.dtype)
            for x in leaves
        ]
        return sum(jnp.vdot(w, x).real for w, x in zip(weights, leaves))

      first = [_pushed(loss, along), _pulled(loss, along)]
      second = [mode(f, along) for f in first for mode in (_pushed, _pulled)]
      both = [jax.grad(loss, (0, 1)), *first, *second]
      run = jax.jit(lambda a, b, fs=tuple(both): [f(a, b) for f in fs])
      results.append(run(a, b))
    self._compare(*results, condition=2**12)

  @parameterized.parameters(*sorted(_NAMESAKES))
  def test_shard_map(self, name):
    """Of matrices that a device has, and right-hand sides that all have."""
    a, b = _definite(4, np.float64), matrices.normal(1, (4, 2), np.float64)
    run = _pipeline(name, _OURS)
    mapped = jax.shard_map(
        run,
        mesh=jax.make_mesh((1,), ("x",), axis_types=(AxisType.Auto,)),
        in_specs=(PartitionSpec("x"), PartitionSpec()),
        out_specs=PartitionSpec("x"),
    )
    self._compare(jax.jit(mapped)(a, b), jax.jit(run)(a, b))

  @parameterized.parameters(*sorted(_NAMESAKES))
  def test_step_by_step(self, name):
    """Without jit, and where each NaN is an error."""
    a, b = _definite(3, np.float64), np.ones((3, 3, 2))
    run = _pipeline(name, _OURS)
    wanted = jax.jit(run)(a, b)
    with jax.debug_nans(True):
      self._compare(jax.jit(run)(a, b), wanted)
      with jax.disable_jit():
        self._compare(run(a, b), wanted)


def _arrays(operands):
  return [jnp.asarray(x) for x in operands]


def _outcome(function, operands):
  """Returns results, or what is said of an error."""
  try:
    return function(*operands)
  except Exception as error:  # pylint: disable=broad-exception-caught
    return f"{type(error)}: {error}"


def _pushed(function, along):
  """Returns the derivative along a direction, by forward mode."""
  return lambda *x: jax.jvp(function, x, tuple(along))[1]


def _pulled(function, along):
  """The same, by reverse mode."""

  def pulled(*x):
    gradients = jax.grad(function, (0, 1))(*x)
    return sum(jnp.sum(g * d).real for g, d in zip(gradients, along))

  return pulled


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
