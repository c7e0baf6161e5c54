# SPDX-License-Identifier: Apache-2.0
"""Primitives of complex numbers, as functions of their parts."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax import lax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import rules

_Formula = Callable[..., Any]


class Pair(NamedTuple):
  """The parts of complex numbers."""

  re: jax.Array
  im: jax.Array


def parts_of(x: jax.Array) -> Pair:
  """Returns the parts of numbers, which are neighbors."""
  part = lambda k: lax.index_in_dim(x, k, x.ndim - 1, keepdims=False)
  return Pair(part(0), part(1))


def interleaved(re: jax.Array, im: jax.Array) -> jax.Array:
  """Returns an array that has the parts of a number side by side."""
  own = [lax.expand_dims(x, [x.ndim]) for x in (re, im)]
  return lax.concatenate(own, re.ndim)


def names() -> list[str]:
  """Returns the primitives of which there are formulas."""
  return [*_OF_EACH_PART, *_formulas]


def find(name: str) -> _Formula:
  """Returns the function of a primitive.

  It takes an equation and its operands: arrays, and pairs of arrays.
  """
  if name in _OF_EACH_PART:
    return _of_each_part
  if name not in _formulas:
    if not rules.has(name):
      raise errors.Unsupported(f"{name}: {rules.no_rule()}")
    raise errors.Unsupported(
        f"{name}: there is no rule for complex numbers: compute it from their"
        " real and imaginary parts"
    )
  return _formulas[name]


# They move numbers, or are linear with real factors.
_OF_EACH_PART = (
    "add", "add_any", "broadcast_in_dim", "concatenate", "copy",
    "cumsum", "device_put", "dynamic_slice", "dynamic_update_slice", "gather",
    "neg", "optimization_barrier", "pad", "pvary", "reduce_sum", "reshape",
    "rev", "scatter", "scatter-add", "scatter-sub", "select_n",
    "sharding_constraint", "slice", "split", "squeeze", "stack",
    "stop_gradient", "sub", "tile", "transpose", "unstack",
)  # fmt: skip

_formulas: dict[str, _Formula] = {}


def _formula(name: str) -> Callable[[_Formula], _Formula]:
  """Registers a function of the operands alone."""

  def register(function):
    _formulas[name] = lambda equation, *args: function(*args)
    return function

  return register


def _with_params(name: str) -> Callable[[_Formula], _Formula]:
  """Registers a function of the parameters and the operands."""

  def register(function):
    _formulas[name] = lambda equation, *args: function(equation.params, *args)
    return function

  return register


def _of_each_part(equation, *args):
  found = []
  for k, part in enumerate((np.real, np.imag)):
    own = [x[k] if isinstance(x, Pair) else x for x in args]
    params = dict(equation.params)
    if params.get("fill_value") is not None:
      params["fill_value"] = part(params["fill_value"])
    results = equation.primitive.bind(*own, **params)
    found.append(results if equation.primitive.multiple_results else [results])
  return [
      Pair(re, im) if cpp.is_complex(x.aval.dtype) else re
      for re, im, x in zip(*found, equation.outvars)
  ]


@_formula("complex")
def _complex(re, im):
  return Pair(*jnp.broadcast_arrays(re, im))  # One may be a single number.


@_formula("real")
def _real(x):
  return x.re


@_formula("imag")
def _imag(x):
  return x.im


def _of_real(x):
  return Pair(x, jnp.zeros_like(x))


@_formula("conj")
def _conj(x):
  return Pair(x.re, -x.im) if isinstance(x, Pair) else _of_real(x)


@_with_params("convert_element_type")
def _convert(params, x):
  dtype = params["new_dtype"]
  cast = lambda part: part.astype(cpp.real(dtype))
  if not isinstance(x, Pair):
    return _of_real(cast(x))
  return Pair(*map(cast, x)) if cpp.is_complex(dtype) else cast(x.re)


@_formula("eq")
def _eq(x, y):
  return (x.re == y.re) & (x.im == y.im)


@_formula("ne")
def _ne(x, y):
  return (x.re != y.re) | (x.im != y.im)


@_formula("mul")
def _mul(x, y):
  return Pair(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)


@_formula("square")
def _square(x):
  return _mul(x, x)


@_with_params("integer_pow")
def _integer_pow(params, x):
  n, found = abs(params["y"]), None
  while n:
    if n % 2:
      found = x if found is None else _mul(found, x)
    x, n = _mul(x, x), n // 2
  if found is None:
    return _of_real(jnp.ones_like(x.re))
  return found if params["y"] > 0 else _reciprocal(found)


@_formula("div")
def _div(x, y):
  """By Smith's method: no square of a part of y, which might overflow."""
  swaps = jnp.abs(y.re) < jnp.abs(y.im)
  chosen = lambda a, b: jnp.where(swaps, b, a)
  more, less = chosen(y.re, y.im), chosen(y.im, y.re)
  # By 0, each part is divided. By two infinite parts, it is 0.
  ratio = jnp.where(less == 0, 0, less / more)
  signs = jnp.sign(less) * jnp.sign(more)
  ratio = jnp.where(jnp.isinf(less), signs, ratio)
  below = more + less * ratio
  a, b = chosen(x.re, x.im), chosen(x.im, x.re)
  im = (b - a * ratio) / below
  return Pair((a + b * ratio) / below, chosen(im, -im))


def _reciprocal(x):
  return _div(_of_real(jnp.ones_like(x.re)), x)


@_formula("abs")
def _abs(x):
  more, ratio = _more_and_ratio(x)
  found = more * jnp.sqrt(1 + ratio * ratio)
  return jnp.where(jnp.isinf(x.re) | jnp.isinf(x.im), jnp.inf, found)


def _more_and_ratio(x):
  """Returns the larger of two absolute values, and less by more."""
  a, b = jnp.abs(x.re), jnp.abs(x.im)
  more, less = jnp.maximum(a, b), jnp.minimum(a, b)
  return more, jnp.where(more == 0, 0, less / more)


@_formula("sign")
def _sign(x):
  size = _abs(x)
  return Pair(*(jnp.where(size == 0, 0, part / size) for part in x))


@_formula("sqrt")
def _sqrt(x):
  # The part that is no difference; half of each, as the sum might overflow.
  large = jnp.sqrt(0.5 * _abs(x) + 0.5 * jnp.abs(x.re))
  small = jnp.where(large == 0, 0, 0.5 * x.im / large)
  is_left, is_far = x.re < 0, jnp.isinf(x.im)
  re = jnp.where(is_left, jnp.abs(small), large)
  im = jnp.where(is_left, jnp.copysign(large, x.im), small)
  return Pair(jnp.where(is_far, jnp.inf, re), jnp.where(is_far, x.im, im))


@_formula("rsqrt")
def _rsqrt(x):
  return _reciprocal(_sqrt(x))


def _scaled(size, x):
  """Returns a product that is 0 where x is, also if size is infinite."""
  return jnp.where(x == 0, x, size * x)


@_formula("exp")
def _exp(x):
  size = jnp.exp(x.re)
  return Pair(size * jnp.cos(x.im), _scaled(size, jnp.sin(x.im)))


@_formula("expm1")
def _expm1(x):
  half = jnp.sin(0.5 * x.im)
  return Pair(
      jnp.expm1(x.re) * jnp.cos(x.im) - 2 * half * half,
      _scaled(jnp.exp(x.re), jnp.sin(x.im)),
  )


@_formula("log")
def _log(x):
  more, ratio = _more_and_ratio(x)
  less = more * ratio
  # Near 1, log(more) and the rest would cancel.
  near = 0.5 * jnp.log1p((more - 1) * (more + 1) + less * less)
  far = jnp.log(more) + 0.5 * jnp.log1p(ratio * ratio)
  re = jnp.where((more > 0.5) & (more < 2), near, far)
  re = jnp.where(jnp.isinf(x.re) | jnp.isinf(x.im), jnp.inf, re)
  return Pair(re, jnp.arctan2(x.im, x.re))


@_formula("log2")
def _log2(x):
  return Pair(*(part / np.log(2).astype(part.dtype) for part in _log(x)))


@_formula("one_minus_square")
def _one_minus_square(x):
  return _mul(Pair(1 - x.re, -x.im), Pair(1 + x.re, x.im))


@_formula("log1p")
def _log1p(x):
  """The same of 1 + x, which is not rounded where it is near 1."""
  moved = Pair(1 + x.re, x.im)
  near = 0.5 * jnp.log1p(x.re * (2 + x.re) + x.im * x.im)
  far = _log(moved)
  more = _more_and_ratio(moved)[0]
  return Pair(jnp.where((more > 0.5) & (more < 2), near, far.re), far.im)


@_formula("sin")
def _sin(x):
  found = _sinh(Pair(-x.im, x.re))  # -i sinh(i x)
  return Pair(found.im, -found.re)


@_formula("cos")
def _cos(x):
  return _cosh(Pair(-x.im, x.re))


@_formula("sinh")
def _sinh(x):
  return Pair(
      jnp.sinh(x.re) * jnp.cos(x.im),
      _scaled(jnp.cosh(x.re), jnp.sin(x.im)),
  )


@_formula("cosh")
def _cosh(x):
  return Pair(
      jnp.cosh(x.re) * jnp.cos(x.im),
      _scaled(jnp.sinh(x.re), jnp.sin(x.im)),
  )


@_formula("tanh")
def _tanh(x):
  real, turn, size = jnp.tanh(x.re), jnp.tan(x.im), jnp.cosh(x.re)
  below = 1 + real * real * turn * turn
  return Pair(real * (1 + turn * turn) / below, turn / size / size / below)


@_formula("tan")
def _tan(x):
  found = _tanh(Pair(-x.im, x.re))
  return Pair(found.im, -found.re)


@_formula("logistic")
def _logistic(x):
  found = _exp(Pair(-x.re, -x.im))
  return _reciprocal(Pair(1 + found.re, found.im))


@_formula("pow")
def _pow(x, y):
  if not isinstance(y, Pair):  # Integers.
    y = _of_real(y.astype(x.re.dtype))
  found = _exp(_mul(_log(x), y))
  is_zero, is_one = _is_zero(x), _is_zero(y)
  return Pair(
      jnp.where(is_one, 1, jnp.where(is_zero, 0, found.re)),
      jnp.where(is_one | is_zero, 0, found.im),
  )


def _is_zero(x):
  return (x.re == 0) & (x.im == 0)


@_with_params("dot_general")
def _dot_general(params, x, y):
  params = dict(params)
  if params.get("preferred_element_type") is not None:
    wanted = params["preferred_element_type"]
    params["preferred_element_type"] = cpp.real(wanted)
  dot = lambda a, b: lax.dot_general_p.bind(a, b, **params)
  return Pair(
      dot(x.re, y.re) - dot(x.im, y.im), dot(x.re, y.im) + dot(x.im, y.re)
  )


def _products(rows, reverse=False):
  """Multiplies rows one after the other; returns the last, and all products."""
  one = _of_real(jnp.ones(rows.re.shape[1:], rows.re.dtype))
  step = lambda found, row: (_mul(found, row),) * 2
  return lax.scan(step, one, rows, reverse=reverse)


@_with_params("reduce_prod")
def _reduce_prod(params, x):
  axes = params["axes"]
  kept = [d for d in range(x.re.ndim) if d not in axes]
  shape = [cpp.size([x.re.shape[d] for d in axes])]
  shape += [x.re.shape[d] for d in kept]
  rows = (lax.transpose(part, [*axes, *kept]).reshape(shape) for part in x)
  return _products(Pair(*rows))[0]


@_with_params("cumprod")
def _cumprod(params, x):
  axis = params["axis"]
  rows = Pair(*(jnp.moveaxis(part, axis, 0) for part in x))
  found = _products(rows, params["reverse"])[1]
  return Pair(*(jnp.moveaxis(part, 0, axis) for part in found))
