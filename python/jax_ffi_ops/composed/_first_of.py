# SPDX-License-Identifier: Apache-2.0
"""The index of the first maximum or minimum, found in two levels.

XLA's own reduction carries an index beside each number, which does not
vectorize on a CPU.
"""

from collections.abc import Callable
import functools
import math
from typing import Any

import jax
from jax import lax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import namesake
from jax_ffi_ops.ops.common import reductions

documented = namesake.documented("""
  Of equal elements, it is the index of the first one. If there are NaNs, it is
  the index of the first NaN. The function compares blocks, and then looks for
  the place in one block. jax.numpy computes small arrays and complex ones.

  Args:
    a: an array.
    axis: the axis to look along. If it is None, the array is flattened.
    out: not supported by jax.
    keepdims: whether to keep the axis, with size 1.

  Returns:
    An array of indices.

  Raises:
    TypeError, ValueError: as jax.numpy.{name} does.
  """)

# Where it is faster, on a CPU with AVX-512: see //benchmarks, --lines=argmax.
_LEAST_SIZE = 2**12
_BLOCK, _SHORT_BLOCK = 256, 64
_PARTS = 16


def index(
    plain: Callable[..., jax.Array],
    pick: Callable[[jax.Array, jax.Array], jax.Array],
    reduce: Callable[..., jax.Array],
    a: Any,
    axis: Any,
    out: Any,
    keepdims: Any,
) -> jax.Array:
  """Returns what jax.numpy.argmax or argmin returns.

  Args:
    plain: jax.numpy.argmax, or argmin; it gets the calls that are left to it.
    pick: the maximum of two arrays: jax.numpy.maximum.
    reduce: the maximum along an axis: jax.numpy.max.
    a: from the user, as the arguments after it.
    axis: see above.
    out: see above.
    keepdims: see above.
  """
  taken = namesake.array_and_axis(a, axis, kit.ORDERED)
  if taken is None or out is not None or not _is_faster(*taken):
    return plain(a, axis, out, keepdims)
  y = _index(*taken, plain, pick, reduce)
  if keepdims:
    y = jnp.expand_dims(y, range(a.ndim) if axis is None else taken[1])
  return y


def _is_faster(x, axis):
  if not all(isinstance(n, int) for n in x.shape) or namesake.is_split(x):
    return False  # Symbolic, or what jax has rules for.
  n, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
  if x.dtype.itemsize == 1 and 1 < inner < _SHORT_BLOCK:
    return False
  is_short = inner > 1 or jnp.issubdtype(x.dtype, jnp.floating)
  least = _SHORT_BLOCK if is_short else _BLOCK
  return x.size >= _LEAST_SIZE and least <= n <= np.iinfo(np.int32).max


@functools.partial(jax.jit, static_argnums=(1, 2, 3, 4))
def _index(x, axis, plain, pick, reduce):
  def in_two_levels(x):
    n, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    kept = x.shape[:axis] + x.shape[axis + 1 :]
    x = x.reshape(math.prod(x.shape[:axis]), n, inner)
    y = _first(x, pick, reduce)
    return y.reshape(kept).astype(jax.dtypes.canonicalize_dtype(int))

  return lax.platform_dependent(
      x, cpu=in_two_levels, default=lambda x: plain(x, axis)
  )


def _first(x, pick, plain_reduce):
  """Returns the first index along axis 1 of 3."""
  reduce = functools.partial(reductions.extremum, plain_reduce)
  outer, n, inner = x.shape
  size = _BLOCK if inner == 1 and n >= _BLOCK else _SHORT_BLOCK
  blocks = x[:, : n // size * size].reshape(outer, n // size, size, inner)
  # The maximum of two arrays vectorizes for all dtypes.
  blocks = functools.reduce(pick, jnp.split(blocks, _PARTS, axis=2))
  best = reduce(blocks, axis=2)
  if n % size:
    rest = reduce(x[:, n // size * size :], axis=1, keepdims=True)
    best = jnp.concatenate([best, rest], axis=1)
  value = reduce(best, axis=1, keepdims=True)
  # The last block may begin earlier: elements that it shares with the block
  # before are not the best ones.
  start = jnp.minimum(_place(best, value) * size, n - size)
  if inner == 1:
    slice_ = lambda row, i: lax.dynamic_slice_in_dim(row, i[0], size)
    block = jax.vmap(slice_)(x, start)
  else:
    indices = start[:, None] + jnp.arange(size)[None, :, None]
    block = jnp.take_along_axis(x, indices, 1, mode="promise_in_bounds")
  return start + _place(block, value)


def _place(x, value):
  """Returns where the first element is that equals a value, or is NaN."""
  found = (x == value) | (x != x)
  places = lax.broadcasted_iota(np.int32, x.shape, 1)
  return jnp.min(jnp.where(found, places, x.shape[1]), axis=1)
