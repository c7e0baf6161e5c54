# SPDX-License-Identifier: Apache-2.0
"""Singular values and vectors, and what is computed from them."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.linalg import operands
from jax_ffi_ops.linalg.eigh import eigh
from jax_ffi_ops.linalg.eigh import eigvalsh

# Of fewer matrices, most lanes are empty.
_CHOICE = operands.choice_of_shapes({1: 2, 12: 4, 24: 16})
_SIZES = {"k": lambda m, n: min(m, n)}


def _reference(a, *, full=False):
  return tuple(jnp.linalg.svd(a, full_matrices=full))


def _gaps(s):
  """Returns s[j]^2 - s[i]^2, without cancellation; 1 on the diagonal."""
  return (s + s[:, None]) * (s - s[:, None]) + jnp.eye(len(s), dtype=s.dtype)


def _jvp(u, s, vh, a_dot):
  """Townsend's tangents (Differentiating the SVD, 2016)."""
  v, (k, n), m = vh.mT, vh.shape, len(u)
  core = u.mT @ a_dot @ v
  factors = (1 - jnp.eye(k, dtype=s.dtype)) / _gaps(s)
  of_u, of_v = core * s, core * s[:, None]
  u_dot = u @ (factors * (of_u + of_u.mT))
  v_dot = v @ (factors * (of_v + of_v.mT))
  if m > k:
    u_dot += (a_dot @ v - u @ core) / s
  if n > k:
    v_dot += (a_dot.mT @ u - v @ core.mT) / s
  return u_dot, jnp.diag(core), v_dot.mT


def _quotient(x, by):
  """x / by, but 0 / 0 is 0: a result that is not used has cotangents of 0."""
  return x / jnp.where((x == 0) & (by == 0), 1, by)


def _backward(u, s, vh, du, ds, dvh):
  """See SvdGradient in xla_ffi_ops/linalg/svd_lanes.h."""
  (k, n), m = vh.shape, len(u)
  x, y = u.mT @ du, vh @ dvh.mT
  core = _quotient((x - x.mT) * s + (y - y.mT) * s[:, None], _gaps(s))
  core += jnp.diag(ds)
  if m > k:
    core -= _quotient(x, s)
  if n > k:
    core -= _quotient(y.mT, s[:, None])
  inner = core @ vh
  if n > k:
    inner += _quotient(dvh, s[:, None])
  da = u @ inner
  return (da + _quotient(du, s) @ vh if m > k else da,)


_svd = kit.op(
    "svd",
    library=operands.LIBRARY,
    signature="(m,n)->(m,k),(k),(k,n)",
    reference=_reference,
    dtypes=operands.REAL,
    outputs=("u", "s", "vh"),
    results=kit.Results(sizes=_SIZES),
    derivatives=kit.Derivatives(
        jvp=_jvp, backward=_backward, residuals=("u", "s", "vh")
    ),
    choice=_CHOICE,
)


# jax differentiates its own function, or refuses to.
_svd_full = kit.op(
    "svd_full",
    library=operands.LIBRARY,
    signature="(m,n)->(m,m),(k),(n,n)",
    reference=functools.partial(_reference, full=True),
    dtypes=operands.REAL,
    outputs=("u", "s", "vh"),
    results=kit.Results(sizes=_SIZES),
    choice=_CHOICE,
)


def _are_values_faster(a, *_, m, n, **shape):
  # LAPACK's QR needs fewer operations than rotations, without the vectors.
  if a.dtype == np.float64 and min(m, n) > 20:
    return False
  return _CHOICE.is_faster(a, m=m, n=n, **shape)


# Without derivatives: these come from vectors.
_svd_values = kit.op(
    "svd_values",
    library=operands.LIBRARY,
    signature="(m,n)->(k)",
    reference=lambda a: jnp.linalg.svd(a, compute_uv=False),
    dtypes=operands.REAL,
    outputs=("s",),
    results=kit.Results(sizes=_SIZES),
    choice=dataclasses.replace(_CHOICE, is_faster=_are_values_faster),
)


@jax.custom_jvp
def _values(a):
  """The values alone; their derivatives are those of svd."""
  return _svd_values(a)


@_values.defjvp
def _values_jvp(primals, tangents):
  return jax.jvp(lambda a: _svd(a)[1], primals, tangents)


def _hermitian(a, compute_uv):
  """Decomposes V diag(w) V^T: the columns of U are those of V."""
  if not compute_uv:
    return jnp.sort(jnp.abs(eigvalsh(a)))[..., ::-1]
  w, v = eigh(a)
  order = jnp.argsort(jnp.abs(w))[..., ::-1]
  w = jnp.take_along_axis(w, order, axis=-1)
  u = jnp.take_along_axis(v, order[..., None, :], axis=-1)
  return _RESULT(u, jnp.abs(w), jnp.where(w < 0, -1, 1)[..., None] * u.mT)


def _served(a: Any, hermitian: Any) -> jax.Array | None:
  """Returns matrices that handlers may serve; None: jax's to judge."""
  found = operands.matrices(a, operands.REAL)
  if found is None or not operands.are_flags(hermitian):
    return None
  is_square = found.shape[-2] == found.shape[-1]
  return found if is_square or not hermitian else None


@operands.public(_svd, _svd_full, _svd_values, *kit.ops_of(eigvalsh))
def svd(
    a: jax.Array,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
  """Decomposes matrices, A = U diag(s) V^T, in place of jax.numpy.linalg.svd.

  Lanes of vectors decompose a matrix each, by one-sided Jacobi rotations
  (Drmac and Veselic, New fast and accurate Jacobi SVD algorithm, 2008). Signs
  are not LAPACK's, which are arbitrary: of each pair of vectors, the largest
  number of the shorter one is positive; of a square matrix, of the row of V^T.
  With `hermitian`, vectors are those of `eigh`. jax computes calls with more
  than 32 rows or columns, other dtypes, complex ones among them, partial
  decompositions, and platforms without a handler.

  Args:
    a: the matrices, [..., m, n], real.
    full_matrices: whether U is [..., m, m], and V^T [..., n, n]. If not, they
      are [..., m, k] and [..., k, n], where k is the lesser of m and n. jax has
      no derivatives of full ones, unless m = n.
    compute_uv: whether U and V^T are wanted.
    hermitian: whether (a + a^T) / 2 is decomposed, by `eigh`; the signs of U
      are its signs.
    subset_by_index: which of the values jax computes, where it can.

  Returns:
    A named tuple of jax: U, s, [..., k], and V^T; or s alone. Values are
    sorted, from the largest. A matrix with a NaN or an infinity has NaNs.

  Raises:
    TypeError, ValueError, NotImplementedError: as jax.numpy.linalg.svd.
  """
  found = _served(a, hermitian)
  if (
      found is None
      or not operands.are_flags(full_matrices, compute_uv)
      or subset_by_index is not None
  ):
    return jnp.linalg.svd(
        a,
        full_matrices=full_matrices,
        compute_uv=compute_uv,
        hermitian=hermitian,
        subset_by_index=subset_by_index,
    )
  if hermitian:
    return _hermitian(found, compute_uv)
  if not compute_uv:
    return _values(found)
  m, n = found.shape[-2:]
  return _RESULT(*(_svd_full if full_matrices and m != n else _svd)(found))


_RESULT = type(jax.eval_shape(jnp.linalg.svd, np.zeros((1, 1), np.float32)))


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
@functools.partial(jax.jit, static_argnums=2)
def _pinv(a, rtol, hermitian):
  if hermitian:  # Of U diag(w) U^T, which needs no singular values.
    s, u = eigh(a)
    vh = u.mT
  else:
    u, s, vh = _svd(a)
  if rtol is None:
    rtol = 10 * max(a.shape[-2:]) * jnp.finfo(a.dtype).eps
  rtol = jnp.asarray(rtol, a.dtype)
  rtol = rtol.reshape((1,) * (s.ndim - 1 - rtol.ndim) + rtol.shape + (1,))
  size = jnp.abs(s)
  is_kept = size > rtol * jnp.max(size, axis=-1, keepdims=True)
  is_kept = is_kept | jnp.isnan(size)
  scaled = vh.mT / jnp.where(is_kept, s, 1)[..., None, :]
  scaled = scaled * is_kept.astype(s.dtype)[..., None, :]
  return jnp.matmul(scaled, u.mT, precision=jax.lax.Precision.HIGHEST)


@_pinv.defjvp
def _pinv_jvp(hermitian, primals, tangents):
  """The tangent of Golub and Pereyra, 1973, equation 4.12, of constant rank."""
  (a, rtol), (a_dot, _) = primals, tangents
  p = _pinv(a, rtol, hermitian)
  if hermitian:
    a, a_dot = (a + a.mT) / 2, (a_dot + a_dot.mT) / 2
  # Smaller products come first.
  rows = a_dot.mT @ p.mT
  columns = p.mT @ a_dot.mT
  return p, (
      p @ (columns - (columns @ a) @ p)
      + (rows - p @ (a @ rows)) @ p
      - p @ a_dot @ p
  )


@operands.public(_svd, *kit.ops_of(eigh))
def pinv(
    a: jax.Array,
    rtol: jax.Array | float | None = None,
    hermitian: bool = False,
    *,
    rcond: jax.Array | float | None = None,
) -> jax.Array:
  """Pseudo-inverses of matrices, in place of jax.numpy.linalg.pinv: see `svd`.

  Args:
    a: the matrices, [..., m, n], real.
    rtol: singular values up to the product of it and the largest one count as
      0. An array of the leading axes of `a`, or of fewer of them. By default,
      it is 10 max(m, n) epsilon.
    hermitian: whether it is that of (a + a^T) / 2, by `eigh`.
    rcond: another name of `rtol`.

  Returns:
    The pseudo-inverses, [..., n, m]. Derivatives take the rank as constant.

  Raises:
    TypeError, ValueError: as jax.numpy.linalg.pinv.
  """
  found = _served(a, hermitian)
  if found is None or (rtol is not None and rcond is not None):
    return jnp.linalg.pinv(a, rtol=rtol, hermitian=hermitian, rcond=rcond)
  return _pinv(found, rcond if rtol is None else rtol, bool(hermitian))


_BY_VALUES = {2: jnp.max, -2: jnp.min, "nuc": jnp.sum}


@operands.public(_svd_values, _svd)
def norm(
    x: jax.Array,
    ord: int | float | str | None = None,  # pylint: disable=redefined-builtin
    axis: int | tuple[int, int] | None = None,
    keepdims: bool = False,
) -> jax.Array:
  """Norms of matrices and vectors, in place of jax.numpy.linalg.norm.

  Those by singular values, of the orders 2, -2 and "nuc", take them from `svd`;
  jax computes others.

  Args:
    x: the matrices, or vectors.
    ord: the order of the norm, as for jax.numpy.linalg.norm.
    axis: two axes are those of matrices, and one that of vectors. By default,
      all axes of `x`.
    keepdims: whether results keep these axes, of size 1.

  Returns:
    The norms, real.

  Raises:
    TypeError, ValueError: as jax.numpy.linalg.norm.
  """
  axes = (0, 1) if axis is None and np.ndim(x) == 2 else axis
  found = None
  if (
      isinstance(ord, int | float | str)
      and ord in _BY_VALUES
      and operands.are_flags(keepdims)
      and _are_two(axes)
  ):
    found = _with_last(x, axes)
  if found is None:
    return jnp.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)
  result = _BY_VALUES[ord](_values(found), axis=-1)
  return jnp.expand_dims(result, axes) if keepdims else result


def _are_two(axes):
  return (
      isinstance(axes, tuple)
      and len(axes) == 2
      and all(isinstance(axis, int) for axis in axes)
  )


def _with_last(x, axes):
  """Returns matrices that handlers may serve, whose axes come last, or None."""
  found = operands.inexact(x, dtypes=operands.REAL)
  rank = np.ndim(x)
  if not found or not all(-rank <= axis < rank for axis in axes):
    return None
  if axes[0] % rank == axes[1] % rank:
    return None
  return operands.matrices(
      jnp.moveaxis(found[0], axes, (-2, -1)), operands.REAL
  )
