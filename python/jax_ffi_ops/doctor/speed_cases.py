# SPDX-License-Identifier: Apache-2.0
"""What speeds.py times: functions, their equivalents in jax, and operands."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.random import bernoulli
from jax.random import normal


def _rms_norm(x):
  return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def _layer_norm(x):
  centered = x - jnp.mean(x, -1, keepdims=True)
  variance = jnp.mean(centered * centered, -1, keepdims=True)
  return centered * jax.lax.rsqrt(variance + 1e-6)


def _add_rms_norm(x, residual):
  return _rms_norm(x + residual), x + residual


def _linear_recurrence(a, b, axis):
  def combine(first, second):
    return first[0] * second[0], second[0] * first[1] + second[1]

  return jax.lax.associative_scan(combine, (a, b), axis=axis)[1]


def _returns(rewards, discounts):
  step = lambda total, x: (x[0] + x[1] * total,) * 2
  start = jnp.zeros_like(rewards[0])
  return jax.lax.scan(step, start, (rewards, discounts), reverse=True)[1]


def _ema(x, alpha):
  step = lambda y, x: (y + alpha[:, 0] * (x - y),) * 2
  return jax.lax.scan(step, x[:, 0], x.T)[1].T


def _gae(rewards, discounts, values, lambda_):
  delta = rewards + discounts * values[1:] - values[:-1]
  return _returns(delta, discounts * lambda_)


def _lfilter(b, a, x):
  """The states of an order are a tuple: XLA vectorizes over the signals."""

  def step(z, x):
    y = z[0] + b[0] * x
    fed = [u + b[k] * x - a[k] * y for k, u in enumerate((*z[1:], 0), 1)]
    return tuple(fed), y

  start = (jnp.zeros_like(x[:, 0]),) * (len(b) - 1)
  return jax.lax.scan(step, start, x.T)[1].T


def _sosfilt(sos, x):
  for section in sos:
    x = _lfilter(section[:3], section[3:], x)
  return x


def spline_filter_by_scan(x):
  """Of order 3, along the first axis, for lines of 16 elements and more."""
  z = 3**0.5 - 2
  weights = z ** jnp.arange(16.0)[:, None]
  start = jnp.sum(weights * x[:16], 0)
  y = jax.lax.scan(lambda y, x: ((x + z * y,) * 2), start, x[1:])[1]
  y = jnp.concatenate([start[None], y])
  end = z / (z * z - 1) * (z * y[-2] + y[-1])
  back = lambda c, y: ((z * (c - y),) * 2)
  c = jax.lax.scan(back, end, y[:-1], reverse=True)[1]
  return 6 * jnp.concatenate([c, end[None]])


def _spline_filter1d(x):
  return spline_filter_by_scan(x.T).T


def _spline_filter(x):
  return _spline_filter1d(spline_filter_by_scan(x))


def banded_without_pivots(l_and_u, ab, b):
  """Solves systems [systems, ...] in lockstep, by loops over the equations."""
  l, u = l_and_u
  # The first is A[i, i - l] by equation and system.
  rows = [
      jnp.roll(ab[:, u + by], by, -1).T[..., None]
      for by in range(l, -u - 1, -1)
  ]

  def eliminate(above, row):
    a, r = list(row[:-1]), row[-1]
    for i, (pivots, from_above) in enumerate(above):  # the farthest first
      factor = a[i] / pivots[0]
      for c in range(1, u + 1):
        a[i + c] = a[i + c] - factor * pivots[c]
      r = r - factor * from_above
    reduced = tuple(a[l:]), r
    return (*above[1:], reduced), reduced

  def substitute(behind, row):
    a, r = row
    for c in range(u):
      r = r - a[c + 1] * behind[c]
    x = r / a[0]
    return (x, *behind)[:u], x

  b = jnp.moveaxis(b, 1, 0)
  one, zero = jnp.ones_like(rows[0][0]), jnp.zeros_like(rows[0][0])
  first = ((one, *[zero] * u), jnp.zeros_like(b[0]))
  _, reduced = jax.lax.scan(eliminate, (first,) * l, (*rows, b))
  behind = (jnp.zeros_like(b[0]),) * u
  x = jax.lax.scan(substitute, behind, reduced, reverse=True)[1]
  return jnp.moveaxis(x, 0, 1)


def _banded(key, shape):
  """Five diagonals, of which the middle one dominates, or right-hand sides."""
  x = jax.random.uniform(key, shape)
  return x.at[:, 2].add(4) if shape[1] == 5 else x


def _coordinates(key, shape):
  """An image, or places in it."""
  return jax.random.uniform(key, shape, maxval=float(min(63, shape[-1] - 1)))


def _filtered(key, shape):
  """Signals, or coefficients that are those of a stable filter."""
  if shape[-1] > 6:
    return normal(key, shape)
  coefficients = jnp.array([1, 0.5, 0.25, 1, -0.5, 0.25])
  return jnp.broadcast_to(coefficients[-shape[-1] :], shape)


class Case(NamedTuple):
  """What one line measures.

  Attributes:
    plain: the equivalent in jax.
    shapes: of the operands.
    options: keywords for both.
    draw: makes an operand, from a key and a shape.
    first: what both take before the operands.
  """

  plain: Callable[..., Any]
  shapes: Sequence[Sequence[int]]
  options: Mapping[str, Any] = {}
  draw: Callable[..., jax.Array] = normal
  first: Sequence[Any] = ()


def _few(key, shape):
  return jax.random.randint(key, shape, 0, 1000)


_MANY, _ROWS, _SQUARE = (1 << 20,), (4096, 256), (2048, 2048)
CASES = {
    "add_rms_norm": Case(_add_rms_norm, [(4096, 1024)] * 2),
    "argmax": Case(jnp.argmax, [(32, 131072)], {"axis": -1}),
    "argmin": Case(jnp.argmin, [(4096, 1024)], {"axis": 0}),
    "argpartition": Case(jnp.argpartition, [_MANY], {"kth": 10}),
    "argsort": Case(jnp.argsort, [_MANY]),
    "cumlogsumexp": Case(jax.lax.cumlogsumexp, [_SQUARE], {"axis": 1}),
    "cummax": Case(jax.lax.cummax, [_SQUARE], {"axis": 1}),
    "cummin": Case(jax.lax.cummin, [_SQUARE], {"axis": 0}),
    "cumprod": Case(jax.lax.cumprod, [_SQUARE], {"axis": 1}),
    "cumsum": Case(jax.lax.cumsum, [_SQUARE], {"axis": 1}),
    "discounted_returns": Case(_returns, [(1024, 256)] * 2),
    "ema": Case(_ema, [(4096, 1024), (4096, 1)]),
    "gae": Case(_gae, [(1024, 256), (1024, 256), (1025, 256), ()]),
    "histogram": Case(jnp.histogram, [_MANY], {"bins": 100}),
    "histogram2d": Case(jnp.histogram2d, [_MANY] * 2, {"bins": 100}),
    "layer_norm": Case(_layer_norm, [(4096, 1024)]),
    "lax_sort": Case(jax.lax.sort, [_ROWS]),
    "lfilter": Case(_lfilter, [(3,), (3,), (64, 16384)], draw=_filtered),
    "linear_recurrence": Case(
        _linear_recurrence, [(8, 2048, 512)] * 2, {"axis": 1}
    ),
    "map_coordinates": Case(
        jax.scipy.ndimage.map_coordinates,
        [(64, 64), (2, 1 << 18)],
        {"order": 1},
        _coordinates,
    ),
    "median": Case(jnp.median, [_MANY]),
    "nanmedian": Case(jnp.nanmedian, [_ROWS], {"axis": -1}),
    "nanpercentile": Case(jnp.nanpercentile, [_ROWS], {"q": 90.0, "axis": -1}),
    "nanquantile": Case(jnp.nanquantile, [_ROWS], {"q": 0.25, "axis": -1}),
    "nonzero": Case(
        jnp.nonzero,
        [_MANY],
        {"size": 1 << 17},
        lambda key, shape: bernoulli(key, 0.1, shape),
    ),
    "partition": Case(jnp.partition, [_MANY], {"kth": 10}),
    "percentile": Case(jnp.percentile, [_ROWS], {"q": 90.0, "axis": -1}),
    "permutation": Case(
        jax.random.permutation,
        [(), _MANY],
        draw=lambda key, shape: normal(key, shape) if shape else key,
    ),
    "quantile": Case(jnp.quantile, [_ROWS], {"q": 0.25, "axis": -1}),
    "rms_norm": Case(_rms_norm, [(4096, 1024)]),
    "softmax": Case(jax.nn.softmax, [(4096, 1024)]),
    "solve_banded": Case(
        banded_without_pivots,
        [(4096, 5, 256), (4096, 256, 1)],
        draw=_banded,
        first=((2, 2),),
    ),
    "sort": Case(jnp.sort, [_MANY]),
    "sort_key_val": Case(jax.lax.sort_key_val, [_MANY] * 2),
    "sosfilt": Case(_sosfilt, [(4, 6), (64, 16384)], draw=_filtered),
    "spline_filter": Case(_spline_filter, [(1024, 1024)]),
    "spline_filter1d": Case(_spline_filter1d, [(1024, 1024)]),
    "top_k": Case(jax.lax.top_k, [(8, 131072)], {"k": 50}),
    "tridiagonal_solve": Case(
        jax.lax.linalg.tridiagonal_solve, [_ROWS] * 3 + [(*_ROWS, 1)]
    ),
    "unique": Case(jnp.unique, [_MANY], {"size": 1000}, _few),
}
