# SPDX-License-Identifier: Apache-2.0
"""Factors and solutions of small matrices, whose steps are written one by one."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops.families.formulas import formula

_MOST_ROWS = 16


def _of_matrices(function):
  """Returns a formula that is mapped over leading dimensions."""

  def mapped(params, *arrays):
    matrix = functools.partial(function, params)
    for _ in range(arrays[0].ndim - 2):
      matrix = jax.vmap(matrix)
    for n in arrays[0].shape[-2:]:
      if not isinstance(n, int) or n > _MOST_ROWS:
        raise errors.Unsupported(
            f"a matrix of {n} rows, which may be {_MOST_ROWS} at most"
        )
    return matrix(*arrays)

  return mapped


@formula("cholesky")
@_of_matrices
def _cholesky(params, a):
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


@formula("triangular_solve")
@_of_matrices
def _triangular_solve(params, a, b):
  """Solves a x = b or x a = b, row by row."""
  if params["conjugate_a"] and jnp.iscomplexobj(a):
    raise errors.Unsupported("of complex numbers")
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


@formula("lu")
@_of_matrices
def _lu(params, a):
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
