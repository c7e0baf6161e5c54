# SPDX-License-Identifier: Apache-2.0
"""Primitives that are written as functions of other primitives."""

from collections.abc import Callable
import functools
import itertools
import math
from typing import Any

import jax
from jax.extend import core as jex_core
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit import _jax
from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import values
from jax_ffi_ops.loops.families import elementwise
from jax_ffi_ops.loops.rules import rule


def formula(name: str, **options: bool) -> Callable[[Any], Any]:
  """Registers a function of parameters and arrays as a primitive's rule."""

  def register(function):
    def write(body, equation, *args):
      own = functools.partial(function, equation.params)
      return body.retrace(own, *args, to=equation.destinations)

    rule(name, **options)(write)
    return function

  return register


@rule("random_wrap", "random_unwrap", of_keys=True, folds=False)
def _random_wrap(body, equation, x):
  """A key is its words."""
  del body, equation
  return x


@rule("random_seed", of_keys=True, folds=False)
def _random_seed(body, equation, x):
  key = equation.of.outvars[0].aval
  own = _jax.prng_implementation(key.dtype).seed
  for _ in key.shape:
    own = jax.vmap(own)
  return body.retrace(own, x)


def _random(name, function):
  @rule(name, of_keys=True, folds=False)
  def write(body, equation, *args):
    key, *others = (x.aval for x in equation.of.invars)
    implementation = _jax.prng_implementation(key.dtype)
    own = functools.partial(function, implementation, equation.params)
    # With jax.vmap, others draw all bits by the first key.
    if key.shape and implementation.tag != "fry":
      raise errors.Unsupported("an array of keys")
    for x in others:
      if x.shape not in ((), key.shape):
        raise errors.Unsupported("an array of keys")
    for _ in key.shape:
      own = jax.vmap(own, (0, *(0 if x.shape else None for x in others)))
    return body.retrace(own, *args)


_random("random_split", lambda impl, p, key: impl.split(key, p["shape"]))
_random("random_fold_in", lambda impl, p, key, x: impl.fold_in(key, x))
_random(
    "random_bits",
    lambda impl, p, key: impl.random_bits(key, p["bit_width"], p["shape"]),
)


@formula("threefry2x32")
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


# Salmon et al., too: Philox of 4 words, 10 rounds.
_PHILOX_FACTORS = 0xD2511F53, 0xCD9E8D57
_PHILOX_STEPS = 0x9E3779B9, 0xBB67AE85


@formula("rng_bit_generator")
def _rng_bit_generator(params, state):
  """As XLA has it on the CPU: the state is a key, and a counter of 64 bits."""
  algorithm = jax.lax.RandomAlgorithm(params["algorithm"]).name
  if algorithm == "RNG_THREE_FRY":
    raise errors.Unsupported(f"by {algorithm}")
  dtype, shape = np.dtype(params["dtype"]), params["shape"]
  is_wide = state.dtype.itemsize == 8
  if is_wide:
    halves = [state.astype(np.uint32), (state >> 32).astype(np.uint32)]
    state = jnp.stack(halves, 1).ravel()
  words = math.prod(shape) * max(dtype.itemsize // 4, 1)
  blocks = -(-words // 4)
  *key, low, high = state
  first = low + jnp.arange(blocks, dtype=np.uint32)
  second = high + (first < low).astype(np.uint32)
  # All bits of the counter are used up in 2^64 blocks.
  carry = ((second < high) & (first < low)).astype(np.uint32)
  third = key[0] + carry
  fourth = key[1] + ((third < key[0]) & (carry > 0)).astype(np.uint32)
  block = lambda counter: jnp.stack(_philox(counter, key))
  bits = jax.lax.map(block, (first, second, third, fourth)).ravel()
  bits = _of_pairs(bits) if dtype.itemsize == 8 else bits
  found = bits[: math.prod(shape)].astype(dtype).reshape(shape)
  end = low + jnp.uint32(blocks)
  state = jnp.stack([*key, end, high + (end < low).astype(np.uint32)])
  return _of_pairs(state) if is_wide else state, found


def _of_pairs(words):
  pairs = words.reshape(-1, 2).astype(np.uint64)
  return pairs[:, 0] | (pairs[:, 1] << 32)


def _philox(counter, key):
  for _ in range(10):
    left, right = (
        _wide_product(x, jnp.uint32(factor))
        for x, factor in zip(counter[::2], _PHILOX_FACTORS)
    )
    counter = (
        right[0] ^ counter[1] ^ key[0], right[1],
        left[0] ^ counter[3] ^ key[1], left[1],
    )  # fmt: skip
    key = [k + jnp.uint32(step) for k, step in zip(key, _PHILOX_STEPS)]
  return counter


def _wide_product(a, b):
  """Returns the higher and the lower 32 bits of a product."""
  half = lambda x: (x >> 16, x & 0xFFFF)
  (a1, a0), (b1, b0) = half(a), half(b)
  middle = a1 * b0 + (a0 * b0 >> 16)
  other = a0 * b1 + (middle & 0xFFFF)
  return a1 * b1 + (middle >> 16) + (other >> 16), a * b


@formula("reduce_precision")
def _reduce_precision(params, x):
  bits = (params["exponent_bits"], params["mantissa_bits"])
  info = jnp.finfo(x.dtype)
  if bits == (info.nexp, info.nmant):
    return x
  raise errors.Unsupported(f"to {bits[0]} and {bits[1]} bits")


def _for_rows(function, axis, *arrays):
  """Returns what a function of rows returns for all of them along an axis."""
  for _ in range(arrays[0].ndim - 1):
    one = function
    function = lambda *xs, one=one: jax.lax.map(lambda x: one(*x), xs)
  return function(*(jnp.moveaxis(x, axis, -1) for x in arrays))


def _cumulative(name, combine, start):
  """Registers a scan. `start` of a dtype is what changes no number."""

  @formula(name)
  def write(params, x):
    axis, reverse = params["axis"], params["reverse"]
    if values.is_small(x.shape) and x.size:
      order = -1 if reverse else 1
      found = list(jnp.moveaxis(x, axis, 0))[::order]
      for t in range(1, len(found)):
        found[t] = combine(found[t - 1], found[t])
      return jnp.stack(found[::order], axis)

    def of_row(row):
      step = lambda total, y: (combine(total, y),) * 2
      first = jnp.asarray(start(x.dtype), x.dtype)
      return jax.lax.scan(step, first, row, reverse=reverse)[1]

    return jnp.moveaxis(_for_rows(of_row, axis, x), -1, axis)


_cumulative("cumlogsumexp", jnp.logaddexp, lambda dtype: -jnp.inf)
_cumulative("cummax", jax.lax.max, lambda dtype: cpp.limits(dtype)[0])
_cumulative("cummin", jax.lax.min, lambda dtype: cpp.limits(dtype)[1])
_cumulative("cumprod", jax.lax.mul, lambda dtype: 1)
_cumulative("cumsum", jax.lax.add, lambda dtype: -0.0)


@formula("reduce")
def _reduce(params, *args):
  """Combines elements one after the other, from the starts on."""
  arrays, starts = args[: len(args) // 2], args[len(args) // 2 :]
  axes = params["dimensions"]
  combine = params["jaxpr"]
  if isinstance(combine, jex_core.Jaxpr):
    combine = jex_core.ClosedJaxpr(combine, params.get("consts", ()))
  combine = jex_core.jaxpr_as_fun(combine)

  def rows(x):
    x = jnp.moveaxis(x, axes, range(len(axes)))
    return x.reshape(-1, *x.shape[len(axes) :])

  arrays = list(map(rows, arrays))
  shape = arrays[0].shape[1:]
  for _ in shape:
    combine = jax.vmap(combine)
  found = [jnp.broadcast_to(x, shape) for x in starts]
  if all(values.is_small(x.shape) for x in arrays):
    for own in zip(*arrays):
      found = combine(*found, *own)
    return list(found)
  step = lambda total, own: (combine(*total, *own), None)
  return jax.lax.scan(step, found, arrays)[0]


def _arg(name, is_better):
  @formula(name)
  def write(params, x):
    zero = jnp.zeros((), params["index_dtype"])

    def step(best, y):
      i, value, place = best
      # The first of equal ones, and the first NaN before all numbers.
      wins = is_better(y, value) | ((y != y) & (value == value))
      value, place = jnp.where(wins, y, value), jnp.where(wins, i, place)
      return (i + 1, value, place), None

    of_row = lambda row: jax.lax.scan(step, (zero, row[0], zero), row)[0][2]
    x = x.astype(np.int32) if x.dtype == bool else x
    return _for_rows(of_row, *params["axes"], x)


_arg("argmax", jax.lax.gt)
_arg("argmin", jax.lax.lt)


# Each element is compared with all others.
_MOST_SORTED = 256


@formula("sort")
def _sort(params, *arrays):
  """Puts each element behind those that are less: its place is their count."""
  axis, n = params["dimension"], arrays[0].shape[params["dimension"]]
  if not isinstance(n, int) or n > _MOST_SORTED:
    raise errors.Unsupported(
        f"of {n} elements, which may be {_MOST_SORTED} at most"
    )

  def of_row(*row):
    numbered = (jnp.arange(n), *row)

    def place(element):
      def count(total, other):
        before = other[0] < element[0]  # Equal ones keep their order.
        for k in reversed(range(1, 1 + params["num_keys"])):
          a, b = other[k], element[k]
          less, equal = a < b, a == b
          if cpp.is_float(a.dtype):  # NaNs are equal, and last.
            less |= (b != b) & (a == a)
            equal |= (b != b) & (a != a)
          before = less | (equal & before)
        return total + before, None

      return jax.lax.scan(count, jnp.int32(0), numbered)[0]

    places = jax.lax.map(place, numbered)
    at = lambda x: jnp.zeros_like(x).at[places]
    return [at(x).set(x, mode="clip", wrap_negative_indices=False) for x in row]

  found = _for_rows(of_row, axis, *arrays)
  return [jnp.moveaxis(x, -1, axis) for x in found]


@formula("top_k")
def _top_k(params, x):
  """Sorts from the largest on. Of equal ones, the first comes first."""
  axis, k = params.get("axis", x.ndim - 1), params["k"]
  numbers = jax.lax.broadcasted_iota(np.int32, x.shape, axis)
  operands = ~elementwise.ordered_bits(x), x, numbers
  _, *found = jax.lax.sort(operands, dimension=axis, num_keys=1)
  return [jax.lax.slice_in_dim(own, 0, k, axis=axis) for own in found]


@formula("tile")
def _tile(params, x):
  shape = [n for pair in zip(params["reps"], x.shape) for n in pair]
  axes = range(1, 2 * x.ndim, 2)
  copies = jax.lax.broadcast_in_dim(x, shape, axes)
  return copies.reshape([a * b for a, b in zip(params["reps"], x.shape)])


@formula("stack")
def _stack(params, *rows):
  axis = params["axis"]
  rows = [jax.lax.expand_dims(x, [axis]) for x in rows]
  return jax.lax.concatenate(rows, axis)


@formula("unstack")
def _unstack(params, x):
  axis = params["axis"]
  row = functools.partial(jax.lax.index_in_dim, x, axis=axis, keepdims=False)
  return list(map(row, range(x.shape[axis])))


@formula("split")
def _split(params, x):
  ends = [0, *itertools.accumulate(params["sizes"])]
  part = functools.partial(jax.lax.slice_in_dim, x, axis=params["axis"])
  return list(map(part, ends, ends[1:]))


@formula("polygamma")
def _polygamma(params, n, x):
  del params
  sign = jnp.where(n % 2 == 0, -1, 1).astype(x.dtype)
  found = sign * jnp.exp(jax.lax.lgamma(n + 1)) * jax.lax.zeta(n + 1, x)
  return jnp.where(n == 0, jax.lax.digamma(x), found)


# New in jax 0.12.
@formula("one_minus_square")
def _one_minus_square(params, x):
  del params
  return (1 + x) * (1 - x)


@formula("log2")
def _log2(params, x):
  del params
  return jax.lax.log(x) * np.asarray(1 / np.log(2), x.dtype)


@formula("polynomial")
def _polynomial(params, x, *coefficients):
  """The first coefficient is the constant term."""
  del params
  found = coefficients[-1]
  for c in coefficients[-2::-1]:
    found = found * x + c
  return found


@formula("call_hi_primitive")
def _call_hi_primitive(params, *args):
  """That of jnp.searchsorted, for one. It says itself what it expands to."""
  primitive = params["_prim"]
  args = jax.tree.unflatten(primitive.in_tree, args)
  return jax.tree.leaves(primitive.expand(*args))
