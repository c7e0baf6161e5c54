# SPDX-License-Identifier: Apache-2.0
"""Programs that chance draws from the families of primitives.

Their floating-point numbers are small integers, and sums of few halves of them:
float32 holds all of them, so that jax and a handler have to agree in all bits,
in whatever order they add. Sizes are odd, and on both sides of what the
compiler keeps in registers.

A seed is one program, in any process: the build compiles it and a test runs it.
"""

from collections.abc import Callable, Sequence
import math
import random
from typing import Any

import jax
from jax import lax
import jax.numpy as jnp
import numpy as np

_SHAPES = [
    (), (1,), (3,), (5,), (2, 3), (4, 1), (3, 5), (2, 3, 2), (70,), (7, 13),
    (3, 5, 7),
]  # fmt: skip
# What a program is called with: float32 and int32.
FLOATS, INTEGERS = 5, 3


def program(seed: int, differentiable: bool = False) -> Callable[..., Any]:
  """Returns a function of float32 [5] and int32 [3] that returns a tuple.

  Args:
    seed: which one.
    differentiable: whether reverse-mode derivatives of it exist and are exact.
  """

  def run(floats, integers):
    rng = random.Random(seed)
    pool = [floats, integers, floats[0], integers[1]]
    _extend(rng, pool, rng.randint(3, 6), 2, differentiable)
    chosen = rng.sample(pool[4:], min(3, len(pool) - 4))
    if differentiable:
      chosen = [
          _fit(pool[-1], (3,), "f"),
          *(x for x in chosen if _kind(x) == "f"),
      ]
    return tuple(chosen)

  return run


def _extend(rng, pool, count, depth, differentiable) -> None:
  """Adds results of steps to a pool of arrays."""
  for _ in range(count):
    steps = [*_STEPS, *(_NESTED if depth else [])]
    if differentiable:
      steps = [s for s in steps if s not in _NOT_DIFFERENTIABLE]
    found = rng.choice(steps)(_Draw(rng, pool, depth, differentiable))
    pool.extend(found if isinstance(found, (list, tuple)) else [found])


def _kind(x) -> str:
  """Returns f, i or b: all integers are i."""
  return {"u": "i"}.get(np.dtype(x.dtype).kind, np.dtype(x.dtype).kind)


def _small(x):
  """Returns integers of a size of at most 4; NaN for infinities."""
  return lax.rem(x, jnp.full_like(x, 5))


def _convert(x, kind):
  if kind == _kind(x):
    return x
  if kind == "b":
    return x > 0
  if kind == "i":
    return x.astype(np.int32)
  return (
      x.astype(np.float32) if _kind(x) == "b" else _small(x).astype(np.float32)
  )


def _fit(x, shape, kind):
  """Returns an array of another shape, made of the same elements."""
  x, n = jnp.ravel(_convert(x, kind)), math.prod(shape)
  return jnp.tile(x, -(-n // x.size))[:n].reshape(shape)


class _Draw:
  """Draws operands for a step."""

  def __init__(self, rng, pool, depth, differentiable):
    self.rng, self.pool = rng, pool
    self.depth, self.differentiable = depth, differentiable

  def array(self, kind="f", least_rank=0):
    """Returns an array of the pool, more likely a late one."""
    fitting = [
        x for x in self.pool if _kind(x) in kind and x.ndim >= least_rank
    ]
    if not fitting or self.rng.random() < 0.1:
      shapes = [s for s in _SHAPES if len(s) >= least_rank]
      return _fit(self.pool[-1], self.rng.choice(shapes), kind[0])
    return fitting[-1 - int(self.rng.random() ** 2 * len(fitting))]

  def like(self, x, kind=None):
    """Returns an array of x's shape, or one that jax stretches to it."""
    other = self.array(kind or _kind(x))
    if self.rng.random() < 0.2:
      return jnp.ravel(other)[0]
    return _fit(other, x.shape, kind or _kind(x))

  def index(self, n):
    """Returns a scalar index; some are outside of n."""
    x = jnp.ravel(self.array("i"))[0].astype(np.int32)
    return x if self.rng.random() < 0.3 else x % np.int32(n)

  def indices(self, n, shape):
    x = _fit(self.array("i"), shape, "i").astype(np.int32)
    return x if self.rng.random() < 0.3 else x % np.int32(n)

  def axis(self, x):
    return self.rng.randrange(x.ndim)

  def choose(self, *items):
    return self.rng.choice(items)

  def body(self, shapes, count=None):
    """Returns a function of a list of arrays, which returns such a list."""
    seed = self.rng.random()
    count = count or self.rng.randint(1, 3)
    kinds = [(x.shape, _kind(x), x.dtype) for x in shapes]

    def run(arrays, *more):
      # Loops trace it several times.
      rng = random.Random(seed)
      pool = [*arrays, *more]
      _extend(rng, pool, count, self.depth - 1, self.differentiable)
      late = pool[-len(kinds) :]
      rng.shuffle(late)
      found = []
      for own, x, (shape, kind, dtype) in zip(arrays, late, kinds):
        x = own if rng.random() < 0.2 else _fit(x, shape, kind)
        found.append((_small(x) if kind == "f" else x).astype(dtype))
      return found

    return run


def _unary(d):
  x = d.array()
  return d.choose(
      lambda: -x,
      lambda: jnp.abs(x),
      lambda: jnp.sign(x),
      lambda: _small(x * 2),
      lambda: _small(jnp.square(x)),
      lambda: jnp.clip(x, -2, 3),
      lambda: _small(x**3),
      lambda: jnp.floor(x / 2),
      lambda: jax.nn.relu(x),
      lambda: jnp.round(x / 2),
      lambda: x.astype(np.float16).astype(np.float32),
      lambda: jnp.where(jnp.isfinite(x), x, 2),
      lambda: _small(jnp.exp2(jnp.abs(_small(x)))),
  )()


def _binary(d):
  x = d.array()
  y = d.like(x)
  return d.choose(
      lambda: _small(x + y),
      lambda: _small(x - y),
      lambda: _small(x * y),
      lambda: jnp.maximum(x, y),
      lambda: jnp.minimum(x, y),
      lambda: jnp.where(x > y, x, y - 1),
      lambda: lax.rem(x, jnp.full_like(x, 3)),
      lambda: lax.select_n(x == y, x, jnp.broadcast_to(y, x.shape)),
      lambda: jnp.where(d.like(x, "b"), x, y),
      lambda: (
          lax.clamp(jnp.float32(-1), x, jnp.float32(2)) + jnp.minimum(y, 1)
      ),
  )()


def _integers(d):
  x = d.array("i")
  x = x.astype(d.choose(np.int32, np.int32, np.int8, np.uint32))
  y = d.like(x).astype(x.dtype)
  y = jnp.broadcast_to(y, x.shape)
  return d.choose(
      lambda: x + y,
      lambda: x * y - 1,
      lambda: lax.div(x, y),
      lambda: lax.rem(x, y),
      lambda: x & y,
      lambda: x | y,
      lambda: ~(x ^ y),
      lambda: lax.shift_left(x, y),
      lambda: lax.shift_right_logical(x, y),
      lambda: lax.shift_right_arithmetic(x, y),
      lambda: lax.clz(x),
      lambda: lax.population_count(x),
      lambda: jnp.maximum(x, y),
      lambda: jnp.sign(x) - y,
      lambda: x.astype(np.int16),
      lambda: x.astype(np.uint8) + 3,
      lambda: x // y,
      lambda: x % y,
      lambda: jnp.where(x < y, x, y),
      lambda: -x,
      lambda: lax.bitcast_convert_type(
          x, {1: np.uint8, 4: np.int32}[x.dtype.itemsize]
      ),
      lambda: d.array().astype(np.int32),
  )()


def _bools(d):
  x = d.array("fib")
  y = jnp.broadcast_to(d.like(x).astype(x.dtype), x.shape)
  a, b = x > y, d.array("b")
  b = _fit(b, a.shape, "b")
  return d.choose(
      lambda: x < y,
      lambda: x == y,
      lambda: x >= y,
      lambda: a & ~b,
      lambda: a | b,
      lambda: a ^ b,
      lambda: a < b,
      lambda: a != b,
      lambda: a.any(),
      lambda: b.all(),
      lambda: jnp.isnan(d.array()),
      lambda: jnp.where(a, b, ~b),
      lambda: jnp.cumsum(a).astype(np.int32) > 2,
  )()


def _moves(d):
  x = d.array("fib", 1)
  axis = d.axis(x)
  n = x.shape[axis]
  zero = jnp.zeros((), x.dtype)
  return d.choose(
      lambda: x.T,
      lambda: jnp.flip(x, axis),
      lambda: jnp.ravel(x),
      lambda: jnp.roll(x, 2, axis),
      lambda: jnp.concatenate([x, x], axis),
      lambda: jnp.stack([x, jnp.flip(x)], d.choose(0, axis, x.ndim)),
      lambda: jnp.moveaxis(x, axis, 0),
      lambda: x[None, ..., None],
      lambda: lax.slice_in_dim(x, n // 3, n, 1 + d.rng.randrange(2), axis),
      lambda: lax.pad(
          x,
          zero,
          [
              (
                  d.choose(-1, 0, 2) if m > 1 else 1,
                  d.choose(0, 1),
                  d.choose(0, 1),
              )
              for m in x.shape
          ],
      ),
      lambda: jnp.split(x, [n // 2], axis)[-1] if n > 1 else x,
      lambda: jnp.broadcast_to(x, (2, *x.shape)),
      lambda: jnp.tile(x, 2),
      lambda: jnp.squeeze(x) if x.size else x,
      lambda: jnp.repeat(x, 2, axis),
      lambda: (
          x.reshape(-1, n)
          if axis == x.ndim - 1
          else jnp.swapaxes(x, axis, -1).reshape(-1)
      ),
      lambda: jnp.diagonal(x) if x.ndim == 2 else x[::2],
      lambda: jnp.tril(x) if x.ndim == 2 else x[-1],
      lambda: lax.broadcasted_iota(np.int32, x.shape, axis),
  )()


def _reductions(d):
  x = d.array("f", 1)
  axis = d.axis(x)
  still = lax.stop_gradient(x)  # Of equal ones, each has a part, as a third.
  i = d.array("i", 1)
  return d.choose(
      lambda: _small(x.sum(axis)),
      lambda: _small(x.sum()),
      lambda: still.max(axis),
      lambda: still.min(),
      lambda: jnp.argmax(x, axis),
      lambda: jnp.argmin(x, axis),
      lambda: jnp.argmax(jnp.ravel(i)),
      lambda: _small(jnp.cumsum(x, axis)),
      lambda: lax.cummax(x, axis, reverse=True),
      lambda: lax.cummin(x, axis),
      lambda: _small(lax.cumsum(x, axis, reverse=True)),
      lambda: i.sum(0),
      lambda: i.max(0),
      lambda: jnp.cumsum(i, 0),
      lambda: i.prod(-1),
      lambda: (x > 0).any(axis),
      lambda: (i > 1).all(0),
      lambda: i.min(),
      lambda: _small(jnp.clip(still, -1, 1).prod(axis)),
      lambda: jnp.sum(x > 0, axis),
      lambda: lax.reduce_and(i, (0,)),
      lambda: lax.reduce_or(i, (0,)),
      lambda: lax.reduce_xor(i, (0,)),
  )()


def _dots(d):
  x = d.array("f", 1)
  y = d.array("f", 1)
  n = x.shape[-1]
  y = _fit(y, (n, d.choose(1, 3, 5)), "f")
  return d.choose(
      lambda: _small(x @ y),
      lambda: _small(x @ y[:, 0]),
      lambda: _small(jnp.einsum("...i,...i->...", x, x)),
      lambda: _small(jnp.einsum("...i,...i->i", x, x)),
      lambda: _small(jnp.einsum("ij,ik->jk", y, y)),
      lambda: _small(jnp.einsum("i,j->ij", y[0], y[-1])),
  )()


def _sorts(d):
  x = d.array("fi", 1)
  axis = d.axis(x)
  if x.shape[axis] > 100:
    x = _fit(x, (7, 13), _kind(x))
    axis = 1
  y = _fit(d.array(), x.shape, "f")
  return d.choose(
      lambda: jnp.sort(x, axis),
      lambda: jnp.argsort(x, axis),
      lambda: lax.sort_key_val(x, y, axis)[1],
      lambda: lax.sort([y, x], dimension=axis, num_keys=2),
      lambda: jnp.sort(x, axis, descending=True),
  )()


def _slices(d):
  x = d.array("fib", 1)
  axis = d.axis(x)
  n = x.shape[axis]
  i = d.index(n)
  part = 1 + d.rng.randrange(n)
  row = lax.slice_in_dim(x, 0, part, 1, axis)
  starts = [d.index(m) for m in x.shape]
  return d.choose(
      lambda: lax.dynamic_slice_in_dim(x, i, part, axis),
      lambda: lax.dynamic_update_slice_in_dim(x, row, i, axis),
      lambda: lax.dynamic_update_slice_in_dim(x, jnp.flip(row), i, axis),
      lambda: lax.dynamic_index_in_dim(x, i, axis, keepdims=False),
      lambda: lax.dynamic_slice(x, starts, [1 + m // 2 for m in x.shape]),
      lambda: lax.dynamic_update_slice(
          x,
          x[tuple(slice(m // 2) for m in x.shape)] if min(x.shape) > 1 else x,
          starts,
      ),
  )()


def _gathers(d):
  x = d.array("fib", 1)
  axis = d.axis(x)
  n = x.shape[axis]
  many = d.indices(n, d.choose((), (2,), (4,), (2, 3)))
  mode = d.choose("clip", "fill", "wrap")
  along = d.indices(n, x.shape)
  return d.choose(
      lambda: x[many % n],
      lambda: jnp.take(x, many, axis, mode=mode),
      lambda: jnp.take_along_axis(x, along, axis, mode="clip"),
      lambda: x[..., d.indices(x.shape[-1], (3,))],
      lambda: x.at[many].get(mode="fill", fill_value=1),
      lambda: (
          x[d.indices(x.shape[0], (2,)), ..., d.indices(x.shape[-1], (2,))]
          if x.ndim > 1
          else x[many]
      ),
      lambda: jnp.arange(n)[many],
  )()


def _scatters(d):
  x = d.array("fi", 1)
  n = x.shape[0]
  many = d.indices(n, d.choose((), (2,), (4,)))
  y = _fit(d.array(_kind(x)), (*many.shape, *x.shape[1:]), _kind(x)).astype(
      x.dtype
  )
  at = x.at[many]
  still = lax.stop_gradient(x)  # Of equal ones, each has a part, as a fifth.
  mode = d.choose("drop", "clip", None)
  return d.choose(
      lambda: x.at[d.index(n)].set(jnp.ravel(y)[0], mode=mode),
      lambda: _kept(x, at.add(y, mode=mode)),
      lambda: still.at[many].max(lax.stop_gradient(y), mode=mode),
      lambda: still.at[many].min(lax.stop_gradient(y)),
      lambda: x.at[0].set(x[-1]),
      lambda: x.at[..., d.index(x.shape[-1])].set(1),
      lambda: x.at[d.index(n), ..., 0].add(1) if x.ndim > 1 else x,
      lambda: (
          jnp.zeros((n, 3), x.dtype).at[:, d.index(3)].set(jnp.ravel(x)[:n])
      ),
  )()


def _kept(x, y):
  return _small(y) if _kind(x) == "f" else y


def _carry(d):
  return [d.array("fib") for _ in range(d.rng.randint(1, 3))]


def _scan(d):
  carry, length = _carry(d), d.choose(0, 1, 2, 5)
  body = d.body(carry)
  x = d.array("fib")
  xs = (
      _fit(x, (length, *d.choose((), (2,), (3, 23))), _kind(x))
      if length
      else None
  )
  out = d.rng.randrange(len(carry))

  def step(c, x):
    found = body(c, *([x] if x is not None else []))
    return found, (found[out], c[0])

  final, ys = lax.scan(
      step,
      carry,
      xs,
      length,
      reverse=d.choose(False, True),
      unroll=d.choose(1, 1, 2),
  )
  return [*final, *(ys if length else [])]


def _for(d):
  carry = _carry(d)
  body = d.body([*carry])
  n = d.choose(2, 3)
  return lax.fori_loop(0, n, lambda i, c: body(c, jnp.int32(i)), carry)


def _while(d):
  carry = _carry(d)
  body = d.body(carry)
  stop = jnp.ravel(d.array("i"))[0].astype(np.int32) % np.int32(5)

  def goes_on(c):
    i, *others = c
    return (i < stop) & (jnp.ravel(others[0])[0] != 3)

  def step(c):
    i, *others = c
    return [i + 1, *body(others, i)]

  return lax.while_loop(goes_on, step, [jnp.int32(0), *carry])


def _cond(d):
  carry = _carry(d)
  branches = [d.body(carry) for _ in range(d.choose(2, 3))]
  which = jnp.ravel(d.array("i"))[0].astype(np.int32)
  if len(branches) == 2:
    return lax.cond(which > 0, *branches, carry)
  return lax.switch(which, branches, carry)


def _call(d):
  carry = _carry(d)
  body = d.body(carry)
  return d.choose(jax.jit, jax.checkpoint, lambda f: f)(body)(carry)


def _vmap(d):
  x = d.array("fib", 1)
  y = d.array("fib")
  body = d.body([x[0], y])
  return jax.vmap(lambda x: body([x, y]))(x)


_STEPS = [
    _unary, _binary, _integers, _bools, _moves, _moves, _reductions, _dots,
    _sorts, _slices, _gathers, _scatters,
]  # fmt: skip
_NESTED = [
    _scan,
    _scan,
    _for,
    _while,
    _while,
    _cond,
    _cond,
    _call,
    _vmap,
    _vmap,
]
_NOT_DIFFERENTIABLE = [_while]


def operands(
    rng: np.random.Generator, rows: int, special: bool = False
) -> Sequence[np.ndarray]:
  """Returns what programs are called with, a row for each of their lanes."""
  floats = rng.integers(-4, 5, (rows, FLOATS)).astype(np.float32)
  if special:
    where = rng.random(floats.shape) < 0.1
    floats[where] = rng.choice([np.nan, np.inf, -np.inf], where.sum())
  return floats, rng.integers(-9, 10, (rows, INTEGERS), np.int32)
