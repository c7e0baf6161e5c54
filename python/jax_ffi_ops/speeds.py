# SPDX-License-Identifier: Apache-2.0
"""Times what is in this package and its namesakes in jax, for the doctor."""

from collections.abc import Callable, Iterator, Mapping, Sequence
import statistics
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.random import bernoulli
from jax.random import normal

import jax_ffi_ops
from jax_ffi_ops import isolated

_ROUNDS = range(3, 50)


def _rms_norm(x):
  return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def _layer_norm(x):
  centered = x - jnp.mean(x, -1, keepdims=True)
  variance = jnp.mean(centered * centered, -1, keepdims=True)
  return centered * jax.lax.rsqrt(variance + 1e-6)


def _add_rms_norm(x, residual):
  return _rms_norm(x + residual), x + residual


class _Case(NamedTuple):
  """What one line is on.

  Attributes:
    plain: the same in jax.
    shapes: of the operands.
    options: keywords for both.
    draw: makes an operand, from a key and a shape.
  """

  plain: Callable[..., Any]
  shapes: Sequence[Sequence[int]]
  options: Mapping[str, Any] = {}
  draw: Callable[..., jax.Array] = normal


_MANY, _ROWS = (1 << 20,), (4096, 256)
_CASES = {
    "add_rms_norm": _Case(_add_rms_norm, [(4096, 1024)] * 2),
    "argmax": _Case(jnp.argmax, [(32, 131072)], {"axis": -1}),
    "argmin": _Case(jnp.argmin, [(4096, 1024)], {"axis": 0}),
    "argsort": _Case(jnp.argsort, [_MANY]),
    "histogram": _Case(jnp.histogram, [_MANY], {"bins": 100}),
    "histogram2d": _Case(jnp.histogram2d, [_MANY] * 2, {"bins": 100}),
    "layer_norm": _Case(_layer_norm, [(4096, 1024)]),
    "median": _Case(jnp.median, [_MANY]),
    "nanmedian": _Case(jnp.nanmedian, [_ROWS], {"axis": -1}),
    "nonzero": _Case(
        jnp.nonzero,
        [_MANY],
        {"size": 1 << 17},
        lambda key, shape: bernoulli(key, 0.1, shape),
    ),
    "percentile": _Case(jnp.percentile, [_ROWS], {"q": 90.0, "axis": -1}),
    "permutation": _Case(
        jax.random.permutation,
        [(), _MANY],
        draw=lambda key, shape: normal(key, shape) if shape else key,
    ),
    "quantile": _Case(jnp.quantile, [_ROWS], {"q": 0.25, "axis": -1}),
    "rms_norm": _Case(_rms_norm, [(4096, 1024)]),
    "softmax": _Case(jax.nn.softmax, [(4096, 1024)]),
    "sort": _Case(jnp.sort, [_MANY]),
    "top_k": _Case(jax.lax.top_k, [(8, 131072)], {"k": 50}),
}


def lines(
    names: Sequence[str] = (), seconds: float = 60
) -> Iterator[tuple[str, bool]]:
  """Yields a line for each function, and whether it could be timed.

  It runs in another process. If that ends, it goes on with the next function.

  Args:
    names: of the functions; by default all.
    seconds: how long one may take.
  """
  left = list(names or _CASES)
  while left:
    try:
      for line, state in isolated.messages(
          "jax_ffi_ops.speeds", "timed", left, seconds=seconds
      ):
        yield line, state
        left.pop(0)
      return
    except isolated.Ended as end:
      yield f"{left.pop(0)}: timing it {end}", False


def timed(
    names: Sequence[str], most: int = 1 << 30, seconds: float = 2
) -> Iterator[tuple[str, bool]]:
  """Yields what `lines` does, of this process.

  Args:
    names: of the functions.
    most: how long an axis of an operand may be.
    seconds: how long to time a function.
  """
  for name in names:
    try:
      case = _CASES[name]
      shapes = [[min(n, most) for n in shape] for shape in case.shapes]
      keys = jax.random.split(jax.random.key(0), len(shapes))
      operands = [case.draw(*pair) for pair in zip(keys, shapes)]
      both = [getattr(jax_ffi_ops, name), case.plain]
      ours, plain = _milliseconds(both, operands, case.options, seconds)
    except Exception as error:  # pylint: disable=broad-except
      yield f"{name}: {type(error).__name__}: {error}".splitlines()[0], False
      continue
    what = " and ".join("x".join(map(str, x)) for x in shapes if x)
    yield (
        f"{name:13} {what:25} {ours:9.3f} ms, jax {plain:9.3f} ms:"
        f" {plain / ours:6.1f} times as fast"
    ), True


def _milliseconds(functions, operands, options, seconds):
  """Returns the medians of calls that take turns."""
  programs = [jax.jit(lambda *x, f=f: f(*x, **options)) for f in functions]
  for program in programs:
    jax.block_until_ready(program(*operands))
  times = []
  end = time.monotonic() + seconds
  while len(times) < min(_ROUNDS) or (
      len(times) < max(_ROUNDS) and time.monotonic() < end
  ):
    times.append([_seconds(program, operands) for program in programs])
  return [1e3 * statistics.median(column) for column in zip(*times)]


def _seconds(program, operands):
  start = time.perf_counter()
  jax.block_until_ready(program(*operands))
  return time.perf_counter() - start


if __name__ == "__main__":
  isolated.tell(timed)
