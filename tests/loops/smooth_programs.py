# SPDX-License-Identifier: Apache-2.0
"""Programs of smooth functions that chance draws, and how exact they are.

All numbers are between -1 and 1. With each goes a bound of its error, and of
its derivatives and their error, to first order, in units of 2^-24. A function
whose derivatives are at most L, and second derivatives H, has

  error             L e + c        of an operand with error e
  derivative        L t            by an operand with derivatives t
  its error         L d + H t e + c t

where c is what the function itself rounds. In reverse, as many roundings are on
each path.
"""

from collections.abc import Callable
import dataclasses
import random
from typing import Any

import jax
from jax import lax
import jax.numpy as jnp
import numpy as np

FLOATS, INTEGERS = 5, 3


@dataclasses.dataclass(frozen=True)
class _Bounded:
  """An array and its bounds; they grow with each function."""

  array: Any
  error: float = 0.0
  slope: float = 1.0
  slope_error: float = 0.0


# The function, L, H and c.
_UNARY = [
    (jnp.sin, 1, 1, 2),
    (jnp.cos, 1, 1, 2),
    (jnp.tanh, 1, 1, 3),
    (jax.nn.sigmoid, 1, 1, 3),
    (lambda x: jnp.exp(x - 1), 1, 1, 4),
    (lambda x: 1 / (2 + x), 1, 2, 3),
    (lambda x: jnp.log1p(x * x), 1, 2, 5),
    (lambda x: lax.erf(x), 1.13, 1, 3),
    (jnp.arctan, 1, 1, 3),
    (jnp.arcsinh, 1, 1, 4),
    (lambda x: jnp.sqrt(1 + x * x) / 2, 1, 1, 4),
    (lambda x: jnp.expm1(x / 2), 1, 1, 3),
    (lambda x: jnp.sinh(x / 2), 1, 1, 4),
    (lambda x: jnp.cosh(x) / 2, 1, 1, 4),
    (lambda x: x**3 / 3, 1, 2, 4),
    (lambda x: jnp.tan(x / 2), 1, 1, 4),
    (lambda x: lax.rsqrt(2 + x), 1, 1, 4),
    (lambda x: jnp.log(2 + x) / 2, 1, 1, 4),
    (lambda x: jnp.cbrt(3 + x) / 2, 1, 1, 4),
    (lambda x: jnp.arcsin(x / 2), 1, 1, 4),
    (lambda x: lax.erfc(x) / 2, 1, 1, 5),
    (lambda x: jnp.exp2(x) / 2, 1, 1, 4),
    (lambda x: jnp.log2(3 + x) / 2, 1, 1, 5),
]
# Those whose c grows with the number of elements.
_SUMS = [
    (lambda x: jax.nn.softmax(x, axis=None), 1, 2),
    (lambda x: jnp.cumsum(x, 0) / x.shape[0] if x.ndim else x, 1, 0),
    (lambda x: (x - jnp.mean(x)) / 2, 1, 0),
]  # fmt: skip
_BINARY = [
    (lambda x, y: x * y, 2, 2, 1), (lambda x, y: (x + y) / 2, 1, 0, 1),
    (lambda x, y: (x - y) / 2, 1, 0, 1),
    (lambda x, y: jnp.power(1.5 + x / 2, y) / 2, 2, 4, 5),
    (lambda x, y: jnp.arctan2(x, 1.5 + y / 2), 2, 2, 5),
    (lambda x, y: jnp.logaddexp(x, y) / 2, 1, 1, 6),
    (lambda x, y: x / (2 + y), 2, 3, 3),
    (lambda x, y: jnp.hypot(x, 1 + y / 2) / 2, 1, 2, 6),
]  # fmt: skip


def _product(x, y):
  return x @ y / x.shape[-1]


def _solution(x, y):
  """Of a system whose inverse has a norm of 1 / n at most."""
  n = len(x)
  return jnp.linalg.solve(x + 2 * n * jnp.eye(n, dtype=x.dtype), y)


def _apply(function, slope, curve, rounding, *args) -> _Bounded:
  e, t, d = (
      max(getattr(x, name) for x in args)
      for name in ("error", "slope", "slope_error")
  )
  return _Bounded(
      function(*(x.array for x in args)),
      slope * e + rounding,
      slope * t,
      slope * d + curve * t * e + rounding * t,
  )


def _fit(x: _Bounded, shape) -> _Bounded:
  return _apply(lambda a: jnp.resize(a, shape), 1, 0, 0, x)


def program(seed: int, differentiable: bool = False) -> Callable[..., Any]:
  """Returns a function of [5] and int32 [3] that returns a list of _Bounded.

  Args:
    seed: which one.
    differentiable: whether reverse-mode derivatives of it exist.
  """

  def run(floats, integers):
    rng = random.Random(seed)
    pool = [_Bounded(floats), _Bounded(floats[0])]
    _extend(rng, pool, integers, rng.randint(3, 8), 2, differentiable)
    return pool[-3:]

  return run


def arrays(function: Callable[..., Any]) -> Callable[..., Any]:
  """Returns a program without its bounds."""
  return lambda *operands: tuple(x.array for x in function(*operands))


def operands(rng: np.random.Generator, rows: int, special: bool = False) -> Any:
  """Returns what programs are called with; they are not for special values."""
  assert not special
  floats = rng.uniform(-1, 1, (rows, FLOATS)).astype(np.float32)
  return floats, rng.integers(-9, 10, (rows, INTEGERS), np.int32)


def _extend(rng, pool, integers, count, depth, differentiable):
  for _ in range(count):
    names = ["unary"] * 3 + ["binary"] * 2 + ["move", "move", "dot", "index"]
    if depth:
      names += ["scan", "cond", "vmap", "call"]
      names += [] if differentiable else ["while"]
    pool.extend(
        _step(rng, pool, integers, rng.choice(names), depth, differentiable)
    )


def _step(rng, pool, integers, name, depth, differentiable):
  x, y = (pool[-1 - int(rng.random() ** 2 * len(pool))] for _ in range(2))
  k = integers[rng.randrange(INTEGERS)]
  match name:
    case "unary":
      if rng.random() < 0.15:
        return [_apply(*rng.choice(_SUMS), 8 + x.array.size, x)]
      return [_apply(*rng.choice(_UNARY), x)]
    case "binary":
      return [_apply(*rng.choice(_BINARY), x, _fit(y, x.array.shape))]
    case "move":
      return [_apply(rng.choice(_MOVES), 1, 0, 0, x)]
    case "dot" if rng.random() < 0.4:
      n = rng.choice([1, 2, 3])
      return [_apply(_solution, 2, 4, 30 * n, _fit(x, (n, n)), _fit(y, (n, 2)))]
    case "dot":
      m, n, p = (rng.choice([1, 3, 5, 11]) for _ in range(3))
      return [_apply(_product, 2, 2, n + 1, _fit(x, (m, n)), _fit(y, (n, p)))]
    case "index":
      v = _fit(x, (7,))
      return rng.choice(
          [
              lambda: [_apply(lambda a: a[k % 7], 1, 0, 0, v)],
              lambda: [
                  _apply(
                      lambda a, b: a.at[k % 7].set(b),
                      1,
                      0,
                      0,
                      v,
                      _fit(y, ()),
                  )
              ],
              lambda: [
                  _apply(
                      lambda a, b: lax.dynamic_update_slice(a, b, (k,)),
                      1,
                      0,
                      0,
                      v,
                      _fit(y, (3,)),
                  )
              ],
              lambda: [_apply(lambda a: a[(integers * k) % 7], 1, 0, 0, v)],
              lambda: [
                  _apply(
                      lambda a, b: a.at[integers % 7].add(b) / 4,
                      1,
                      0,
                      3,
                      v,
                      _fit(y, (3,)),
                  )
              ],
          ]
      )()
  # What runs a body of two carries of their shapes.
  shapes = x.array.shape, y.array.shape
  seed = rng.random()

  def body(a, b):
    own = random.Random(seed)
    inner = [a, b]
    _extend(own, inner, integers, own.randint(1, 3), depth - 1, differentiable)
    return _fit(inner[-1], shapes[0]), _fit(inner[-2], shapes[1])

  def on_arrays(arrays):
    return [v.array for v in body(*map(_Bounded, arrays))]

  def repeated(times, carry):
    """Returns the bounds of that many steps: of the worst of all before."""
    for _ in range(times):
      found = []

      def once(a, b):
        found[:] = body(
            dataclasses.replace(carry[0], array=a),
            dataclasses.replace(carry[1], array=b),
        )
        return [v.array for v in found]

      jax.eval_shape(
          once,
          *(jax.ShapeDtypeStruct(v.array.shape, v.array.dtype) for v in carry),
      )
      carry = [_worst(old, new) for old, new in zip(carry, found)]
    return carry

  carry = [x, y]
  start = [v.array for v in carry]
  match name:
    case "scan":
      n = rng.choice([1, 2, 3])
      reverse = rng.random() < 0.5
      final, ys = lax.scan(
          lambda c, _: (on_arrays(c), c[0]),
          start,
          None,
          n,
          reverse=reverse,
      )
      found, n = [*final, ys], n
    case "while":
      n = 3
      found = lax.while_loop(
          lambda c: c[0] < k % 4,
          lambda c: (c[0] + 1, on_arrays(c[1])),
          (0, start),
      )[1]
    case "cond":
      n = 1
      found = lax.cond(k > 0, on_arrays, lambda c: list(c), start)
    case "vmap":
      rows = jnp.stack([start[0], -start[0]])
      found, n = jax.vmap(lambda a: on_arrays([a, start[1]]))(rows), 1
    case "call":
      found, n = (
          rng.choice([jax.jit, jax.checkpoint])(on_arrays)(start),
          1,
      )
  bounds = repeated(n, carry)
  bounds = [*bounds, bounds[0]][: len(found)]
  return [dataclasses.replace(v, array=a) for v, a in zip(bounds, found)]


def _worst(a, b):
  return _Bounded(
      b.array, max(a.error, b.error), max(a.slope, b.slope),
      max(a.slope_error, b.slope_error),
  )  # fmt: skip


_MOVES = [
    jnp.ravel, jnp.transpose, jnp.flip, jnp.negative,
    lambda x: jnp.stack([x, x]),
    lambda x: jnp.concatenate([jnp.ravel(x), jnp.ravel(x)[:1]]),
    lambda x: jnp.resize(x, (2, 3)), lambda x: jnp.resize(x, (71,)),
    lambda x: jnp.resize(x, (4, 19)), lambda x: x[None],
    lambda x: jnp.ravel(x)[::2],
    lambda x: jnp.pad(x, 1) if x.ndim < 3 else x[0],
    lambda x: x[0] if x.ndim else x,
]  # fmt: skip
