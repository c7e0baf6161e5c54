# SPDX-License-Identifier: Apache-2.0
"""Factors and solutions of small matrices: by calls of xla_ffi_ops/linalg."""

from collections.abc import Callable
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import values
from jax_ffi_ops.loops.families.formulas import formula
from jax_ffi_ops.loops.rules import rule

_MOST_ROWS = 32
# Of smaller matrices, each step is written by itself: they are in registers.
_MOST_UNROLLED = 3


def _check_sizes(a, is_tall_allowed):
  m, n = a.shape[-2:]
  if all(isinstance(size, int) for size in (m, n)):
    if max(m, n) <= _MOST_ROWS:
      return
    if is_tall_allowed and n <= _MOST_ROWS and m * n <= _MOST_ROWS**2:
      return
  raise errors.Unsupported(
      f"a matrix of {m}x{n}, which may be {_MOST_ROWS}x{_MOST_ROWS} at most"
  )


def _matrices(
    name: str, small: Any = None, is_tall_allowed: bool = False
) -> Callable[[Any], Any]:
  """Registers a function as the rule of a primitive of matrices.

  Args:
    name: of the primitive.
    small: a formula of parameters and single matrices, which takes the place of
      the rule where the first one is small.
    is_tall_allowed: whether the first one may have more rows, if it has no more
      elements than a square one: a fit has more residuals than parameters.
  """

  def register(function):
    def write(body, equation, *args):
      _check_sizes(args[0], is_tall_allowed)
      if not small or max(args[0].shape[-2:]) > _MOST_UNROLLED:
        return function(body, equation, *args)
      own = functools.partial(small, equation.params)
      for _ in args[0].shape[:-2]:
        own = jax.vmap(own)
      return body.retrace(own, *args, to=equation.destinations)

    rule(name)(write)
    return function

  return register


def _small_cholesky(params, a):
  """The lower factor, column by column; NaN where there is none."""
  del params
  columns = jnp.zeros_like(a)
  for j in range(len(a)):
    rest = a[j:, j] - columns[j:, :j] @ columns[j, :j]
    pivot = jnp.where(rest[0] > 0, jnp.sqrt(rest[0]), jnp.nan)
    column = jnp.concatenate([pivot[None], rest[1:] / pivot])
    columns = jax.lax.dynamic_update_slice(columns, column[:, None], (j, j))
  # As XLA has it: all is NaN if a pivot is.
  return jnp.where(jnp.isnan(jnp.sum(jnp.diagonal(columns))), jnp.nan, columns)


def _small_triangular_solve(params, a, b):
  """Solves a x = b or x a = b, row by row."""
  transposed = params["transpose_a"]
  if not params["left_side"]:  # x a = b is a^T x^T = b^T.
    transposed, b = not transposed, b.T
  a = a.T if transposed else a
  lower, n = params["lower"] != transposed, len(a)
  rows = [None] * n
  for i in range(n) if lower else reversed(range(n)):
    row = b[i]
    for k in range(i) if lower else range(i + 1, n):
      row = row - a[i, k] * rows[k]
    rows[i] = row if params["unit_diagonal"] else row / a[i, i]
  found = jnp.stack(rows)
  return found if params["left_side"] else found.T


def _small_lu(params, a):
  """Gaussian elimination with the largest pivot of each column."""
  del params
  order = jnp.arange(len(a), dtype=np.int32)
  pivots = []
  for k in range(min(a.shape)):
    p = (jnp.argmax(jnp.abs(a[k:, k])) + k).astype(np.int32)
    pivots.append(p)
    a, order = _swapped(a, k, p), _swapped(order, k, p)
    factor = jnp.where(a[k, k] != 0, a[k + 1 :, k] / a[k, k], a[k + 1 :, k])
    below = a[k + 1 :, k + 1 :] - factor[:, None] * a[k, k + 1 :]
    below = jnp.concatenate([factor[:, None], below], 1)
    a = jax.lax.dynamic_update_slice(a, below, (k + 1, k)) if len(below) else a
  return a, jnp.stack(pivots), order


@formula("lu_pivots_to_permutation")
def _lu_pivots_to_permutation(params, pivots):
  if pivots.ndim > 1:
    return jax.vmap(lambda x: _lu_pivots_to_permutation(params, x))(pivots)
  order = jnp.arange(params["permutation_size"], dtype=np.int32)
  for k in range(len(pivots)):
    order = _swapped(order, k, pivots[k])
  return order


def _swapped(x, k, p):
  """Returns x with rows k and p exchanged."""
  rows = jnp.arange(len(x))
  order = jnp.where(rows == k, p, jnp.where(rows == p, k, rows))
  return jnp.take(x, order, 0, mode="clip")


def _copied(body, x, lanes=None) -> values.Memory:
  """Returns a copy of matrices that a kernel may change."""
  return body.writer.copied(x, x.lanes if lanes is None else lanes)


def _kept(body, x, lanes) -> values.Memory:
  """Returns matrices that a kernel may read."""
  if isinstance(x, values.Memory) and x.buffer.kind in values.POINTERS:
    if x.is_contiguous and x.lanes == lanes:
      return x
  return _copied(body, x, lanes)


def _new(body, x, *shape, dtype=None) -> values.Memory:
  """Returns arrays of a shape, one for each of the matrices x."""
  whole = (*x.shape[:-2], *shape)
  return body.writer.buffer(whole, dtype or x.dtype, x.lanes)


def _call(body, header: str, template: str, *arrays: Any) -> None:
  """Calls a kernel of xla_ffi_ops/linalg for each matrix of arrays.

  Args:
    body: what is being written.
    header: of the kernel.
    template: of the call, with `{}` for each array.
    *arrays: memory, and pieces of code that are no arrays. The first one is of
      matrices; all have the same leading dimensions.
  """
  writer, batch = body.writer, arrays[0].shape[:-2]
  writer.headers.add(f"linalg/{header}")
  with writer.loops(batch) as index:

    def begin(x):
      if isinstance(x, cpp.Code):
        return x
      return cpp.code("{} + {}", x.buffer.name, x.place(index))

    work = arrays[0].shape[-2] * arrays[0].shape[-1]
    writer.line(f"linalg::{template};", *map(begin, arrays), counts=work)


def _fixed(n: int) -> str:
  return f"int64_t({n})"


def _transposed(body, x) -> values.Value:
  return body.retrace(lambda x: jnp.swapaxes(x, -1, -2), x)[0]


@_matrices("cholesky", _small_cholesky)
def _cholesky(body, equation, a):
  del equation
  factor = _copied(body, a)
  n = _fixed(a.shape[-1])
  _call(body, "cholesky_lanes.h", f"Cholesky({n}, {{}})", factor)
  return body.loaded(factor)


@_matrices("triangular_solve", _small_triangular_solve)
def _triangular_solve(body, equation, a, b):
  params, lanes = equation.params, a.lanes or b.lanes
  left = params["left_side"]  # x a = b is a^T x^T = b^T.
  x = _copied(body, b if left else _transposed(body, b), lanes)
  flags = (
      params["lower"], params["transpose_a"] == left, False,
      params["unit_diagonal"],
  )  # fmt: skip
  triangle = cpp.listed([cpp.Code(str(bool(v)).lower()) for v in flags])
  sizes = ", ".join(map(_fixed, x.shape[-2:]))
  call = f"SolveTriangular({sizes}, {{1}}, {{0}}, {{2}})"
  _call(body, "triangular.h", call, _kept(body, a, lanes), triangle, x)
  return body.loaded(x if left else _transposed(body, x))


@_matrices("lu", _small_lu)
def _lu(body, equation, a):
  """Factors, and integers that the kernel has as floating-point numbers."""
  del equation
  m, n = a.shape[-2:]
  matrix, factors = _copied(body, a), _new(body, a, m, n)
  pivots, order = _new(body, a, min(m, n)), _new(body, a, m)
  bits = _new(body, a, m, dtype=np.dtype(f"uint{8 * a.dtype.itemsize}"))
  call = "LuFactor(%s, %s, {}, {}, {{{}, {}, {}}})" % (_fixed(m), _fixed(n))
  _call(body, "lu_lanes.h", call, matrix, factors, pivots, order, bits)
  whole = lambda *arrays: [x.astype(np.int32) for x in arrays]
  found = body.retrace(whole, body.loaded(pivots), body.loaded(order))
  return [body.loaded(factors), *found]


@_matrices("eigh")
def _eigh(body, equation, a):
  """Eigenvectors and eigenvalues; the kernel reads the upper triangle."""
  if equation.params.get("subset_by_index") is not None:
    raise errors.Unsupported("with subset_by_index")
  n = a.shape[-1]
  lower = equation.params["lower"]
  matrix = _copied(body, _transposed(body, a) if lower else a)
  values_, vectors = _new(body, a, n), _new(body, a, n, n)
  scratch = _new(body, a, 5 * n)
  call = f"Eigh<true>({_fixed(n)}, {{}}, {{}}, {{}}, {{}})"
  _call(body, "eigh_lanes.h", call, matrix, values_, vectors, scratch)
  return [body.loaded(vectors), body.loaded(values_)]


@_matrices("geqrf", is_tall_allowed=True)
def _geqrf(body, equation, a):
  del equation
  m, n = a.shape[-2:]
  packed, taus = _copied(body, a), _new(body, a, min(m, n))
  call = f"QrFactor({_fixed(m)}, {_fixed(n)}, {{}}, {{}})"
  _call(body, "qr_lanes.h", call, packed, taus)
  return [body.loaded(packed), body.loaded(taus)]


@_matrices("householder_product", is_tall_allowed=True)
def _householder_product(body, equation, a, taus):
  del equation
  lanes = a.lanes or taus.lanes
  product = _copied(body, a, lanes)
  sizes = ", ".join(map(_fixed, (*a.shape[-2:], taus.shape[-1])))
  call = f"MultiplyReflectors({sizes}, {{1}}, {{0}})"
  _call(body, "qr_lanes.h", call, product, _kept(body, taus, lanes))
  return body.loaded(product)


@_matrices("ormqr", is_tall_allowed=True)
def _ormqr(body, equation, a, taus, c):
  """Q c or Q^T c; c Q is the transpose of Q^T c^T, and c Q^T that of Q c^T."""
  left = equation.params["left"]
  is_adjoint = left == equation.params["transpose"]
  lanes = a.lanes or taus.lanes or c.lanes
  x = _copied(body, c if left else _transposed(body, c), lanes)
  m, n = a.shape[-2:]
  sizes = ", ".join(map(_fixed, (m, x.shape[-1], n, taus.shape[-1])))
  flag = str(is_adjoint).lower()
  call = f"ApplyReflectors({sizes}, {flag}, {{1}}, {{2}}, {{0}})"
  kept = [_kept(body, y, lanes) for y in (a, taus)]
  _call(body, "qr_lanes.h", call, x, *kept)
  return body.loaded(x if left else _transposed(body, x))


@_matrices("qr", is_tall_allowed=True)
def _qr(body, equation, a):
  if equation.params.get("pivoting"):
    raise errors.Unsupported("with pivoting")
  m, n = a.shape[-2:]
  rows = m if equation.params["full_matrices"] else min(m, n)
  packed, taus = _geqrf(body, equation, a)

  def columns(x):
    """The reflectors, in as many columns as Q has."""
    more = [(0, 0, 0)] * (x.ndim - 1) + [(0, max(rows - n, 0), 0)]
    return jax.lax.pad(x, np.zeros((), x.dtype), more)[..., :rows]

  (start,) = body.retrace(columns, packed)
  q = _householder_product(body, equation, start, taus)
  return [q, *body.retrace(lambda x: jnp.triu(x[..., :rows, :]), packed)]


@_matrices("svd")
def _svd(body, equation, a):
  params = equation.params
  if params.get("subset_by_index") is not None:
    raise errors.Unsupported("with subset_by_index")
  m, n = a.shape[-2:]
  less, most = min(m, n), max(m, n)
  k = 0
  if params["compute_uv"]:
    k = most if params["full_matrices"] else less
  values_ = _new(body, a, less)
  # Without vectors, nothing is written to these.
  u = _new(body, a, m, less if m < n else k) if k else values_
  vt = _new(body, a, k if m < n else less, n) if k else values_
  # Svd's own: see SvdScratch.
  size = m * n
  if k:
    size += 2 * less + max(less * (m + n), most * k) + max(most * k, less**2)
  sizes = ", ".join(map(_fixed, (m, n, k)))
  call = f"Svd({sizes}, {{}}, {{}}, {{}}, {{}}, {{}})"
  matrix = _kept(body, a, a.lanes)
  scratch = _new(body, a, size)
  _call(body, "svd_lanes.h", call, matrix, u, values_, vt, scratch)
  found = [body.loaded(values_)]
  return found + ([body.loaded(u), body.loaded(vt)] if k else [])
