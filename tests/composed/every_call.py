# SPDX-License-Identifier: Apache-2.0
"""Calls of every public function, for what all of them have to do.

Each function has small calls, which may run a definition or jax's own function,
and larger ones, which run the handler or the faster formulation.
"""

from collections.abc import Callable, Mapping, Sequence
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

import jax_ffi_ops
import jax_ffi_ops.linalg


class Call(NamedTuple):
  """A call of a public function.

  Attributes:
    run: calls the function, which is its first argument, with the operands.
    operands: arrays.
    traces: whether jax.jit can trace it.
    takes_16_bits: whether the operands may be bfloat16 in place of float32.
  """

  run: Callable[..., Any]
  operands: Sequence[np.ndarray]
  traces: bool = True
  takes_16_bits: bool = True


def functions() -> dict[str, Callable[..., Any]]:
  """Returns the public functions by name; of linalg, too: "linalg.det"."""
  folders = "jax_ffi_ops.ops.", "jax_ffi_ops.composed."
  found = {name: getattr(jax_ffi_ops, name) for name in dir(jax_ffi_ops)}
  found = {
      name: x
      for name, x in found.items()
      if callable(x) and getattr(x, "__module__", "").startswith(folders)
  }
  return found | {f"linalg.{name}": x for name, x in _linalg().items()}


def _linalg():
  return {x: f for x, f in vars(jax_ffi_ops.linalg).items() if callable(f)}


def _different(*shape):
  """Returns numbers that are all different, and odd multiples of 1/128."""
  size = np.prod(shape, dtype=int)
  order = np.random.default_rng(0).permutation(size).reshape(shape)
  return ((2 * order + 1) / 128).astype(np.float32)


def _parts(*shape):
  """Returns different numbers between 0 and 1."""
  return _different(*shape) * np.float32(64 / np.prod(shape))


_KEY = np.array([0, 7], np.uint32)
_SHAPES = _SMALL, _LARGE = (4, 6), (64, 128)
_B, _A = np.float32([0.5, 0.25, 0.125]), np.float32([1, -0.5, 0.25])
_SECTIONS = np.tile(np.concatenate([_B, _A]), (3, 1))


def _calls(*runs, draws=(_different,), shapes=_SHAPES, **options):
  """Returns calls of each of these with operands of each of these shapes."""
  return [
      Call(run, [draw(*shape) for draw in draws], **options)
      for shape in shapes
      for run in runs
  ]


def _axes(*arguments, draws=(_different,), axes=(0, 1), **keywords):
  """Likewise, of functions of an axis."""
  return _calls(
      *(
          functools.partial(_along, axis, arguments, keywords)
          for axis in axes
      ),
      draws=draws,
  )  # fmt: skip


def _along(axis, arguments, keywords, f, x):
  return f(x, *arguments, axis=axis, **keywords)


def _quantiles(q):
  several = np.float32([q / 2, q])
  return [
      *_axes(q, axes=(None, 1)),
      Call(lambda f, x: f(x, q, axis=0, keepdims=True), [_different(*_LARGE)]),
      Call(
          lambda f, x, q: f(x, q, axis=1, method="nearest"),
          [_different(*_LARGE), several],
      ),
      Call(lambda f, x: f(x, q), [_different(8192)]),
  ]


def _recurrences(call):
  """Returns calls of a function of factors, terms and a start."""

  def first_of(a, at=0):
    return a[:, :1] if at else a[0]

  calls = []
  for shape in _SHAPES:
    a, b = _parts(*shape), _parts(*shape)
    calls += [
        Call(lambda f, b: call(f, 0.5, b, None, 0), [b]),
        Call(lambda f, a, b: call(f, a, b, None, 1), [a, b]),
        Call(lambda f, a, b: call(f, a, b, None, 0), [first_of(a), b]),
        Call(
            lambda f, a, b, h0: call(f, a, b, h0, 1),
            [first_of(a, 1), b, a[:, 0]],
        ),
        Call(lambda f, a, b: call(f, a, b, None, 1), [np.float32(0.5), b]),
    ]
  return calls


def _gae():
  calls = []
  for n, columns in _SHAPES:
    r, v = _parts(n, columns), _parts(n + 1, columns)
    calls += [
        Call(lambda f, r, d, v: f(r, d, v, 0.9), [r, r, v]),
        Call(lambda f, r, v, x: f(r, 0.9, v, x), [r, v, r[:, :1]]),
    ]
  return calls


def _histograms(*draws):
  """For so many variables."""
  pairs = ((0, 3), None) if len(draws) > 1 else (0, 3)
  calls = []
  for n in (100, 2**15):
    x = [draw(n) for draw in draws]
    whole = [np.floor(32 * a).astype(np.int32) for a in x]
    calls += [
        Call(lambda f, *x: f(*x, 8), x),
        Call(lambda f, *x: f(*x[:-1], 8, pairs, x[-1], True), [*x, _parts(n)]),
        Call(lambda f, *x: f(*x, 8), whole),
    ]
  return calls


def _maps():
  calls = []
  for n, order, mode in (
      (4, 0, "constant"), (4, 1, "nearest"), (300, 0, "mirror"),
      (300, 1, "constant"), (300, 3, "grid-constant"),
  ):  # fmt: skip
    places = _parts(n) * 20 - 2, _parts(n) * 10 - 2
    calls.append(
        Call(
            lambda f, x, *at, order=order, mode=mode: f(
                x, at, order, mode, 2.0
            ),
            [_different(32, 16), *places],
        )
    )
  whole = _different(32, 16).astype(np.int32)
  calls.append(Call(lambda f, x, *at: f(x, at, 1), [whole, *places]))
  return calls


def _filters():
  calls = []
  for shape in _SHAPES:
    x, state = _different(*shape), _parts(shape[0], 2)
    calls += [
        Call(lambda f, *x: f(*x), [_B, _A, x]),
        Call(lambda f, b, a, x: f(b, a, x, 0), [_B, 2 * _A[:2], x]),
        Call(lambda f, b, a, x, z: f(b, a, x, zi=z), [_B, _A, x, state]),
        # Coefficients that are known: arrays of NumPy, lists, a number.
        Call(lambda f, x: f(_B, _A, x), [x], takes_16_bits=False),
        Call(lambda f, x: f([1.0, 1], 2, x), [x], takes_16_bits=False),
    ]
  return calls


def _cascades():
  calls = []
  for shape in ((4, 8), _LARGE):  # Not 6, the size of a section.
    x, states = _different(*shape), _parts(3, 2, shape[1])
    calls += [
        Call(lambda f, *x: f(*x), [_SECTIONS, x]),
        Call(lambda f, s, x, z: f(s, x, 0, zi=z), [_SECTIONS, x, states]),
        Call(lambda f, x: f(_SECTIONS, x), [x], takes_16_bits=False),
        Call(lambda f, x: f(_SECTIONS.tolist(), x), [x], takes_16_bits=False),
    ]
  return calls


def _nonzero():
  draws = (lambda *shape: np.floor(_parts(*shape) + 0.5),)
  shapes = (300,), (4, 6), (64, 128)
  return [
      *_calls(
          lambda f, x: f(x, size=5),
          lambda f, x: f(x, size=5, fill_value=-1),
          draws=draws,
          shapes=shapes,
      ),
      *_calls(lambda f, x: f(x), draws=draws, shapes=shapes[:2], traces=False),
  ]


def _permutation():
  calls = [Call(lambda f, key: f(key, 1000), [_KEY])]
  for shape in _SHAPES:
    operands = [_KEY, _different(*shape)]
    calls += [
        Call(lambda f, key, x: f(key, x), operands),
        Call(
            lambda f, key, x: f(jax.random.wrap_key_data(key), x, 1, True),
            operands,
        ),
    ]
  return calls


def _banded():
  calls = []
  for n, k in ((6, 1), (64, 8)):
    for lower, upper in ((1, 1), (2, 1)):
      ab = _parts(3, lower + upper + 1, n)
      ab[:, upper] += 4
      run = functools.partial(_solve, (lower, upper))
      calls += [
          Call(run, [ab, _parts(3, n, k)]),
          Call(run, [ab[0], _parts(n)]),
      ]
  return calls


def _solve(l_and_u, f, ab, b):
  return f(l_and_u, ab, b)


def _tridiagonal():
  return [
      Call(
          lambda f, *x: f(*x),
          [_parts(3, n), _parts(3, n) + 4, _parts(3, n), _parts(3, n, k)],
          takes_16_bits=False,
      )
      for n, k in ((6, 1), (64, 16))
  ]


def _of_matrices(name):
  """Of matrices that are definite, and of right-hand sides."""
  run = {
      "cho_factor": lambda f, a: f(a)[0],
      "cho_solve": lambda f, a, b: f((a, True), b),
      "lu_solve": lambda f, a, order, b: f((a, order), b),
      "matrix_power": lambda f, a: f(a, 3),
      "solve": lambda f, a, b: f(a, b),
      "solve_triangular": lambda f, a, b: f(a, b, lower=True),
  }.get(name, lambda f, a: f(a))
  calls = []
  for *batch, n in ((3,), (64, 4)):
    x = _parts(*batch, n, n)
    operands = [x + x.swapaxes(-1, -2) + np.diag(np.arange(2.0, n + 2)) * 2]
    if name == "lu_solve":
      order = np.arange(n, dtype=np.int32)
      operands.append(np.broadcast_to(order, (*batch, n)))
    if name.endswith(("solve", "solve_triangular")):
      operands.append(_parts(*batch, n, 2))
    operands = [x if x.dtype == np.int32 else np.float32(x) for x in operands]
    calls.append(Call(run, operands, takes_16_bits=False))
  return calls


def _unique():
  draws = (lambda *shape: np.floor(8 * _parts(*shape)),)
  shapes = (4, 6), (600,)
  return [
      *_calls(
          lambda f, x: f(x, True, True, True, size=3),
          lambda f, x: f(x.astype(np.int32), size=30, fill_value=2),
          lambda f, x: f(x, True, axis=0, size=3),
          draws=draws,
          shapes=shapes,
      ),
      *_calls(
          lambda f, x: f(x),
          lambda f, x: f(x, True, True, True),
          draws=draws,
          shapes=shapes,
          traces=False,
      ),
  ]


def _rows(*draws):
  """For functions of rows, and of weights."""
  calls = []
  for shape in ((4, 6), (64, 1024)):
    x = [draw(*shape) for draw in draws]
    weight = _parts(shape[-1])
    calls += [
        Call(lambda f, *x: f(*x), x),
        Call(lambda f, *x: f(*x), [*x, weight]),
    ]
  return calls


_ROWS = (4, 6), (64, 1024)
_PAIR = (_different, _parts)
CALLS: Mapping[str, Sequence[Call]] = {
    "add_rms_norm": _rows(*_PAIR),
    "argmax": _axes(axes=(None, 0, 1)) + _axes(axes=(1,), keepdims=True),
    "argmin": _axes(axes=(None, 0, 1)),
    "argpartition": _axes(2),
    "argsort": _axes() + _axes(stable=False, descending=True),
    "cumlogsumexp": _axes(),
    "cummax": _axes() + _axes(reverse=True),
    "cummin": _axes(),
    "cumprod": _axes(draws=[lambda *shape: 0.5 + _parts(*shape)]),
    "cumsum": _axes() + _axes(reverse=True),
    "discounted_returns": _recurrences(
        lambda f, a, b, h0, axis: f(b, a, h0, axis=axis)
    ),
    "ema": _recurrences(lambda f, a, b, h0, axis: f(b, a, h0, axis=axis)),
    "gae": _gae(),
    "histogram": _histograms(_parts),
    "histogram2d": _histograms(_parts, lambda n: _parts(n)[::-1]),
    "layer_norm": _rows(_different),
    "lax_sort": _calls(lambda f, x: f(x), lambda f, x: f(x, 0))
    + _calls(
        lambda f, *x: f(x),
        lambda f, *x: f(x, 0, num_keys=2),
        draws=_PAIR,
    ),
    "lfilter": _filters(),
    "linear_recurrence": _recurrences(
        lambda f, a, b, h0, axis: f(a, b, h0, axis=axis)
    ),
    "map_coordinates": _maps(),
    "median": _axes(axes=(None, 0, 1)),
    "nanmedian": _axes(axes=(None, 0, 1)),
    "nanpercentile": _quantiles(30.0),
    "nanquantile": _quantiles(0.3),
    "nonzero": _nonzero(),
    "partition": _axes(2),
    "percentile": _quantiles(30.0),
    "permutation": _permutation(),
    "quantile": _quantiles(0.3),
    "rms_norm": _rows(_different),
    "softmax": _calls(
        lambda f, x: f(x), lambda f, x: f(x, axis=0), shapes=_ROWS
    ),
    "solve_banded": _banded(),
    "sort": _axes() + _axes(descending=True),
    "sort_key_val": _calls(
        lambda f, *x: f(*x), lambda f, *x: f(*x, 0), draws=_PAIR
    ),
    "sosfilt": _cascades(),
    "spline_filter": _calls(lambda f, x: f(x)),
    "spline_filter1d": _axes() + _axes(2, mode="grid-wrap"),
    "top_k": _axes(3),
    "tridiagonal_solve": _tridiagonal(),
    "unique": _unique(),
} | {f"linalg.{name}": _of_matrices(name) for name in _linalg()}

# Functions of jax that take the same arguments. Where they raise an error, ours
# may.
NAMESAKES: Mapping[str, Callable[..., Any]] = {
    "cumlogsumexp": jax.lax.cumlogsumexp,
    "cummax": jax.lax.cummax,
    "cummin": jax.lax.cummin,
    "cumprod": jax.lax.cumprod,
    "cumsum": jax.lax.cumsum,
    "lax_sort": jax.lax.sort,
    "map_coordinates": jax.scipy.ndimage.map_coordinates,
    "permutation": jax.random.permutation,
    "softmax": jax.nn.softmax,
    "sort_key_val": jax.lax.sort_key_val,
    "top_k": jax.lax.top_k,
    "tridiagonal_solve": jax.lax.linalg.tridiagonal_solve,
} | {
    name: getattr(jnp, name)
    for name in (
        "argmax", "argmin", "argpartition", "argsort", "histogram",
        "histogram2d", "median", "nanmedian", "nanpercentile", "nanquantile",
        "nonzero", "partition", "percentile", "quantile", "sort", "unique",
    )
} | {
    f"linalg.{name}": getattr(jnp.linalg, name, None)
    or getattr(jax.scipy.linalg, name)
    for name in _linalg()
}  # fmt: skip
