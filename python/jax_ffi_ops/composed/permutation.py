# SPDX-License-Identifier: Apache-2.0
"""Random permutations."""

import functools
import math
import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.argsort import argsort


@kit.public(*kit.ops_of(argsort))
def permutation(
    key: jax.Array,
    x: Any,
    axis: int = 0,
    independent: bool = False,
    **options: Any,
) -> jax.Array:
  """Permutes an array at random: jax.random.permutation, faster on a CPU.

  Any kind of key gives the same permutation as in JAX. jax_ffi_ops.argsort
  makes the permutation, and the array is indexed once.

  Args:
    key: a key of jax.random.
    x: an array with one axis or more; or an integer n, which stands for 0, 1,
      ..., n - 1.
    axis: the axis along which elements change places.
    independent: whether each vector along the axis is permuted on its own.
    **options: other arguments of jax.random.permutation; it computes such
      calls.

  Returns:
    An array of the shape and dtype of `x`, or of integers.

  Raises:
    TypeError, ValueError: as jax.random.permutation does.
  """
  is_array = isinstance(x, (jax.Array, np.ndarray)) and x.ndim > 0
  is_integer = isinstance(x, numbers.Integral) and not isinstance(x, bool)
  ndim = x.ndim if is_array else 1
  if (
      not (is_array or is_integer)
      or not isinstance(axis, numbers.Integral)
      or not -ndim <= axis < ndim
      or not _is_one_key(key)
      or options
  ):
    return jax.random.permutation(key, x, axis, independent, **options)
  if not _is_typed(key):  # jit does not tell the kinds of others apart.
    key = jax.random.wrap_key_data(key)
  x = jnp.asarray(x) if is_array else jnp.arange(x)
  axis = int(axis) % ndim
  if independent and ndim > 1:
    order = _shuffled(key, x.shape, axis)
    return jnp.take_along_axis(x, order, axis, mode="promise_in_bounds")
  order = _shuffled(key, x.shape[axis : axis + 1], 0)
  return jnp.take(x, order, axis, mode="clip", unique_indices=True)


def _is_one_key(key):
  if not isinstance(key, (jax.Array, np.ndarray)):
    return False
  return key.ndim == (0 if _is_typed(key) else 1)


def _is_typed(key):
  return jnp.issubdtype(key.dtype, jax.dtypes.prng_key)


@functools.partial(jax.jit, static_argnums=(1, 2))
def _shuffled(key, shape, axis):
  """Returns random indices along an axis.

  As jax does, it sorts by random numbers of 32 bits, and so often that numbers
  that are drawn twice make no permutation likelier than another.
  """
  size = max(1, math.prod(shape))
  order = None
  for _ in range(math.ceil(3 * math.log(size) / math.log(2**32 - 1))):
    key, subkey = jax.random.split(key)
    numbers_ = jax.random.bits(subkey, shape, np.uint32)
    again = argsort(numbers_, axis)
    order = again if order is None else jnp.take_along_axis(
        order, again, axis, mode="promise_in_bounds"
    )  # fmt: skip
  return jnp.zeros(shape, np.int32) if order is None else order
