# SPDX-License-Identifier: Apache-2.0
"""Primitives that are written as functions of other primitives."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit import _jax
from jax_ffi_ops.kit.emit import errors
from jax_ffi_ops.kit.emit.rules import rule


def _formula(*names: str):
  """Registers a function of parameters and arrays as the rule of primitives."""

  def register(function):
    def write(body, equation, *args):
      return body.retrace(
          lambda *arrays: function(equation.params, *arrays), *args
      )

    rule(*names)(write)
    return function

  return register


@rule("random_wrap", "random_unwrap")
def _random_wrap(body, equation, x):
  """A key is its words."""
  del body, equation
  return x


def _random(name: str, call: Any) -> None:
  def write(body, equation, *args):
    implementation = _jax.prng_implementation(equation.invars[0].aval.dtype)

    def function(*arrays):
      return call(implementation, equation.params, *arrays)

    if equation.invars[0].aval.shape:
      raise errors.Unsupported("an array of keys")
    return body.retrace(function, *args)

  rule(name)(write)


_random("random_split", lambda impl, p, key: impl.split(key, p["shape"]))
_random("random_fold_in", lambda impl, p, key, x: impl.fold_in(key, x))
_random(
    "random_bits",
    lambda impl, p, key: impl.random_bits(key, p["bit_width"], p["shape"]),
)


@_formula("threefry2x32")
def _threefry(params, key0, key1, x0, x1):
  """Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011."""
  del params
  rotations = ((13, 15, 26, 6), (17, 29, 16, 24))
  keys = (key0, key1, key0 ^ key1 ^ jnp.uint32(0x1BD11BDA))
  x0, x1 = x0 + keys[0], x1 + keys[1]
  for group in range(5):
    for distance in rotations[group % 2]:
      x0 = x0 + x1
      left = jax.lax.shift_left(x1, jnp.uint32(distance))
      right = jax.lax.shift_right_logical(x1, jnp.uint32(32 - distance))
      x1 = x0 ^ (left | right)
    x0 = x0 + keys[(group + 1) % 3]
    x1 = x1 + keys[(group + 2) % 3] + jnp.uint32(group + 1)
  return x0, x1


def _of_matrices(function):
  """Returns a formula that is mapped over leading dimensions."""

  def mapped(params, *arrays):
    matrix = functools.partial(function, params)
    for _ in range(arrays[0].ndim - 2):
      matrix = jax.vmap(matrix)
    if max(arrays[0].shape[-2:]) > _LARGEST:
      raise errors.Unsupported(f"a matrix of more than {_LARGEST} rows")
    return matrix(*arrays)

  return mapped


# Steps are written one by one.
_LARGEST = 16


@_formula("cholesky")
@_of_matrices
def _cholesky(params, a):
  """The lower factor, column by column; NaN where there is none."""
  del params
  n = a.shape[-1]
  columns = jnp.zeros_like(a)
  for j in range(n):
    rest = a[j:, j] - columns[j:, :j] @ columns[j, :j]
    pivot = jnp.where(rest[0] > 0, jnp.sqrt(rest[0]), jnp.nan)
    column = jnp.concatenate([pivot[None], rest[1:] / pivot])
    columns = jax.lax.dynamic_update_slice(columns, column[:, None], (j, j))
  # As XLA has it: all is NaN if a pivot is.
  return jnp.where(jnp.isnan(jnp.sum(jnp.diagonal(columns))), jnp.nan, columns)


@_formula("triangular_solve")
@_of_matrices
def _triangular_solve(params, a, b):
  """Solves a x = b or x a = b, row by row."""
  if params["conjugate_a"] and jnp.iscomplexobj(a):
    raise errors.Unsupported("of complex numbers")
  if not params["left_side"]:  # x a = b is a^T x^T = b^T.
    flipped = dict(
        params, left_side=True, transpose_a=not params["transpose_a"]
    )
    return _triangular_solve(flipped, a, b.T).T
  lower = params["lower"] != params["transpose_a"]
  a = a.T if params["transpose_a"] else a
  n = a.shape[0]
  rows = [None] * n
  for i in range(n) if lower else reversed(range(n)):
    row = b[i]
    for k in range(i) if lower else range(i + 1, n):
      row = row - a[i, k] * rows[k]
    rows[i] = row if params["unit_diagonal"] else row / a[i, i]
  return jnp.stack(rows)


@_formula("lu")
@_of_matrices
def _lu(params, a):
  """Gaussian elimination with the largest pivot of each column."""
  del params
  rows, cols = a.shape
  order = jnp.arange(rows, dtype=np.int32)
  pivots = []
  for k in range(min(rows, cols)):
    p = (jnp.argmax(jnp.abs(a[k:, k])) + k).astype(np.int32)
    pivots.append(p)
    swap = jnp.where(
        jnp.arange(rows) == k,
        p,
        jnp.where(jnp.arange(rows) == p, k, jnp.arange(rows)),
    )
    a, order = _permuted(a, swap), _permuted(order, swap)
    factor = jnp.where(a[k, k] != 0, a[k + 1 :, k] / a[k, k], a[k + 1 :, k])
    below = a[k + 1 :, k + 1 :] - factor[:, None] * a[k, k + 1 :]
    below = jnp.concatenate([factor[:, None], below], 1)
    a = jax.lax.dynamic_update_slice(a, below, (k + 1, k)) if len(below) else a
  return a, jnp.stack(pivots), order


def _permuted(x, order):
  index = order.reshape(-1, 1)
  return jax.lax.gather(
      x, index,
      jax.lax.GatherDimensionNumbers(
          offset_dims=tuple(range(1, x.ndim)),
          collapsed_slice_dims=(0,),
          start_index_map=(0,),
      ),
      slice_sizes=(1, *x.shape[1:]),
      mode="clip",
  )  # fmt: skip


@_formula("lu_pivots_to_permutation")
def _lu_pivots_to_permutation(params, pivots):
  n = params["permutation_size"]
  if pivots.ndim > 1:
    return jax.vmap(lambda x: _lu_pivots_to_permutation(params, x))(pivots)
  places = jnp.arange(n)
  order = jnp.arange(n, dtype=np.int32)
  for k in range(pivots.shape[0]):
    p = pivots[k]
    order = _permuted(
        order, jnp.where(places == k, p, jnp.where(places == p, k, places))
    )
  return order


@_formula("reduce_precision")
def _reduce_precision(params, x):
  bits = (params["exponent_bits"], params["mantissa_bits"])
  info = jnp.finfo(x.dtype)
  if bits == (info.nexp, info.nmant):
    return x
  raise errors.Unsupported(f"to {bits[0]} and {bits[1]} bits")


@_formula("cumlogsumexp")
def _cumlogsumexp(params, x):
  rows = jnp.moveaxis(x, params["axis"], 0)

  def step(total, row):
    total = jnp.logaddexp(total, row)
    return total, total

  start = jnp.full(rows.shape[1:], -jnp.inf, x.dtype)
  _, found = jax.lax.scan(step, start, rows, reverse=params["reverse"])
  return jnp.moveaxis(found, 0, params["axis"])


@_formula("tile")
def _tile(params, x):
  shape = [n for pair in zip(params["reps"], x.shape) for n in pair]
  axes = range(1, 2 * x.ndim, 2)
  copies = jax.lax.broadcast_in_dim(x, shape, axes)
  return copies.reshape([a * b for a, b in zip(params["reps"], x.shape)])
