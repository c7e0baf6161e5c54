# SPDX-License-Identifier: Apache-2.0
"""Random bits and keys of Threefry keys, as jax.random makes them."""

import contextlib
import math

import jax
import jax.extend.random
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import libraries

# The handlers of all ops here.
LIBRARY = libraries.of_folder("random")

_UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}

# A key's numbers are several rows of a call, if so many rows divide them: then
# as many devices can have a part of them each.
_ROWS = 64
_LEAST_ROW = 1024

# Counts of halves are 32 bits; larger arrays have several keys in jax.
_MOST_HALVES = 2**31 - 1


def _blocks(key, start, n):
  """Returns both words of the blocks of n counts."""
  low = start[1] + jax.lax.iota(np.uint32, n)
  high = start[0] + (low < start[1]).astype(np.uint32)
  return jax.extend.random.threefry2x32_p.bind(key[0], key[1], high, low)


def _bits_reference(key, start, *, n, width, in_halves):
  dtype = _UNSIGNED[width]
  if in_halves:
    count = jax.lax.iota(np.uint32, n * width // 32)
    a = b = jax.extend.random.threefry_2x32(key, count)
    if width == 64:
      a, b = a[:n], a[n:]
  else:
    a, b = _blocks(key, start, n)
    if width < 64:
      a = a ^ b
  if width == 64:
    return (a.astype(dtype) << dtype(32)) | b.astype(dtype)
  return a.astype(dtype)


def _keys_reference(key, start, *, n):
  return jnp.stack(_blocks(key, start, n), axis=1)


def _is_faster(key, start, *, n, **_):
  loops = max(key.size, start.size) // 2
  return n * loops >= 256


_CHOICE = kit.Choice(is_faster=_is_faster)
_OPERANDS = {"key": kit.Operand(stretched=True)}  # All rows of a key share it.
_DTYPES = {"key": ("uint32",), "start": ("uint32",)}

_bits = kit.op(
    "random_bits",
    library=LIBRARY,
    signature="(2),(2)->(n)",
    attributes={
        "n": np.int64,
        "width": kit.Attribute(np.int32, example=32),
        "in_halves": np.bool_,
    },
    reference=_bits_reference,
    dtypes=_DTYPES,
    operands=_OPERANDS,
    outputs=("numbers",),
    choice=_CHOICE,
)

_keys = kit.op(
    "random_keys",
    library=LIBRARY,
    signature="(2),(2)->(n,2)",
    attributes={"n": np.int64},
    reference=_keys_reference,
    dtypes=_DTYPES,
    operands=_OPERANDS,
    outputs=("keys",),
    choice=_CHOICE,
)


OPS = (_bits, _keys)


def is_partitionable() -> bool:
  """Returns whether jax makes numbers each of its own count."""
  return jax.config.jax_threefry_partitionable


def partitionable(is_on: bool) -> contextlib.AbstractContextManager[None]:
  """Sets what is_partitionable returns, for this thread."""
  return jax.threefry_partitionable(bool(is_on))


def are_threefry(keys: jax.Array) -> bool:
  """Returns whether keys with a dtype of keys are those of Threefry-2x32."""
  return jax.random.key_impl(keys) == "threefry2x32"


def wrap(words: jax.Array) -> jax.Array:
  """Returns the keys of words, [..., 2]."""
  return jax.random.wrap_key_data(words, impl="threefry2x32")


def in_rows(words: jax.Array, size: int) -> tuple[jax.Array, jax.Array, int]:
  """Cuts the numbers of keys into rows.

  Args:
    words: of keys, [*k, 2].
    size: how many numbers each key has.

  Returns:
    The keys, [*k, 1, 2]; the count of the first number of each row, [*k, rows,
    2], or [2] if there is one row; and the length of a row.
  """
  n = size // _ROWS
  key = words[..., None, :]
  if size % _ROWS or n < _LEAST_ROW:
    return key, jnp.zeros(2, np.uint32), size
  first = np.arange(_ROWS, dtype=np.uint64) * np.uint64(n)
  start = np.stack([first >> np.uint64(32), first & np.uint64(2**32 - 1)], 1)
  shape = (*words.shape[:-1], _ROWS, 2)
  return key, jnp.broadcast_to(start.astype(np.uint32), shape), n


def bits(words: jax.Array, width: int, shape: tuple[int, ...]) -> jax.Array:
  """Returns random numbers of keys, [..., 2]: an array [..., *shape].

  Args:
    words: the words of keys.
    width: the bits of a number: 8, 16, 32 or 64.
    shape: of the numbers of each key.
  """
  size = math.prod(shape)
  if is_partitionable():
    key, start, n = in_rows(words, size)
    numbers = _bits(key, start, n=n, width=width, in_halves=False)
  else:
    # Shorter numbers are parts of words.
    counts = size if width >= 32 else -(-size * width // 32)
    numbers = _bits(
        words,
        jnp.zeros(2, np.uint32),
        n=counts,
        width=max(width, 32),
        in_halves=True,
    )
    if width < 32:
      numbers = jax.lax.bitcast_convert_type(numbers, _UNSIGNED[width])
      numbers = numbers.reshape(*words.shape[:-1], -1)[..., :size]
  return numbers.reshape(*words.shape[:-1], *shape)


def split(words: jax.Array, shape: tuple[int, ...]) -> jax.Array:
  """Returns new keys of each key: [..., *shape, 2]."""
  size = math.prod(shape)
  if is_partitionable():
    key, start, n = in_rows(words, size)
    found = _keys(key, start, n=n)
  else:
    found = bits(words, 32, (2 * size,))
  return found.reshape(*words.shape[:-1], *shape, 2)


def fold_in(words: jax.Array, data: jax.Array) -> jax.Array:
  """Returns a new key of each key and 32 bits of data."""
  data = data.astype(np.uint32)
  count = jnp.stack([jnp.zeros_like(data), data], axis=-1)
  return _keys(words, count, n=1)[..., 0, :]


def can_serve(shape: tuple[int, ...], width: int) -> bool:
  """Returns whether `bits` makes such numbers of a key as jax does."""
  words = math.prod(shape) * max(width, 32) // 32
  is_right = all(isinstance(n, int) and n >= 0 for n in shape)
  if width == 64 and not jax.config.jax_enable_x64:
    return False  # jax then returns one half.
  return is_right and (is_partitionable() or words <= _MOST_HALVES)
