# SPDX-License-Identifier: Apache-2.0
"""Compares results with the definition in float64, some rows at a time.

In float64 all rows would take several times the memory of what is measured.
"""

import functools

import jax
import jax.numpy as jnp

import variants

_CHUNK = 2**24  # Elements: 0.13 GB in float64.


def tolerance(shape, dtype) -> float:
  """Returns the relative error that rounding explains.

  A result is rounded, and so may be what it is made of. A sum of n terms in
  float32 errs by about sqrt(n) roundings, whatever the order.
  """
  single = float(jnp.finfo(jnp.float32).eps)
  return 2 * float(jnp.finfo(dtype).eps) + 2 * max(shape) ** 0.5 * single


def relative_errors(definition, direction, arrays, results) -> list[float]:
  """Returns the error of each result, relative to its norm.

  Args:
    definition: of an op; of operands in float64 it computes in float64.
    direction: one of `variants.DIRECTIONS`.
    arrays: operands and cotangents. Those of the first one's shape are split by
      rows; so are such results. Others are weights, whose gradients are sums.
    results: of the pass.
  """
  rows, cols = shape = arrays[0][0].shape
  step = min(rows, max(1, _CHUNK // cols))
  results = tuple(results)
  sums = None
  with jax.enable_x64(True):
    for first in range(0, rows, step):
      count = min(step, rows - first)
      found = _compare(definition, direction, count, first, arrays, results)
      sums = found if sums is None else jax.tree.map(jnp.add, sums, found)
    found = [
        s if x.shape == shape else _squares(x, s) for x, s in zip(results, sums)
    ]
    return [float(jnp.sqrt(error / size)) for error, size in found]


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _compare(definition, direction, count, first, arrays, results):
  """Returns what to add up over rows: squares, or the gradient of a weight."""
  shape = arrays[0][0].shape

  def wide(x):
    if x.shape == shape:
      x = jax.lax.dynamic_slice_in_dim(x, first, count)
    return x.astype("float64")

  wanted = variants.run_pass(definition, direction, *jax.tree.map(wide, arrays))
  return [
      _squares(wide(x), want) if x.shape == shape else want
      for x, want in zip(results, wanted, strict=True)
  ]


def _squares(got, want):
  difference = got.astype(want.dtype) - want
  return jnp.sum(difference * difference), jnp.sum(want * want)
