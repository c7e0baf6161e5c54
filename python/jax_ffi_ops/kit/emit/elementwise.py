# SPDX-License-Identifier: Apache-2.0
"""Primitives that compute each element of an array alone."""

from collections.abc import Callable, Sequence
import dataclasses
from typing import Any

import jax
import numpy as np

from jax_ffi_ops.kit.emit import cpp
from jax_ffi_ops.kit.emit import errors
from jax_ffi_ops.kit.emit import values
from jax_ffi_ops.kit.emit.rules import rule
from jax_ffi_ops.kit.emit.values import Lazy
from jax_ffi_ops.kit.emit.values import Scalars

# By C++'s own operators. A scalar beside a vector stands for all lanes.
_INFIX = {"add": "+", "add_any": "+", "sub": "-", "mul": "*"}
_BITWISE = {"and": "&", "or": "|", "xor": "^"}
_COMPARE = {
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}
# Of bools: all bits of a mask are set, which is -1 and no 1.
_COMPARE_BOOLS = {
    "lt": "Not({}) & {}",
    "le": "Not({}) | {}",
    "gt": "{} & Not({})",
    "ge": "{} | Not({})",
    "eq": "Not({} ^ {})",
    "ne": "{} ^ {}",
}
# By functions of vectors.h and math.h, of the same names in other letters, but
# for a few.
_FUNCTIONS = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt",
    "ceil", "clz", "cos", "cosh", "erf", "erf_inv", "erfc", "exp", "exp2",
    "expm1", "floor", "log", "log1p", "logistic", "max", "min", "nextafter",
    "population_count", "rem", "rsqrt", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "sign", "sin", "sinh", "sqrt", "square", "tan",
    "tanh",
)  # fmt: skip
_RENAMED = {
    "clz": "LeadingZeros",
    "nextafter": "NextAfter",
    "population_count": "CountBits",
    "rem": "Remainder",
    "shift_right_arithmetic": "ShiftRight",
}


def apply(
    body: Any,
    equation: Any,
    args: Sequence[values.Value],
    function: Callable[..., str],
    mixed: bool = False,
    most: int = values.SMALL,
) -> values.Value:
  """Returns an array of which each element is an expression.

  Args:
    body: what is being written.
    equation: gives the shape and dtype of the result.
    args: operands of that shape, or with some sizes of 1, or scalars.
    function: from expressions of their elements to that of the result's.
    mixed: whether it takes scalars beside vectors.
    most: the most elements that are written one by one.
  """
  writer, shape, dtype = body.writer, equation.shape, equation.dtype
  lanes = any(x.lanes for x in args)
  writer.type_of(dtype, lanes)

  def operand(value, text):
    if value.lanes < lanes and (not mixed or value.dtype == bool):
      return writer.splat(text, value.dtype)
    return text

  if values.is_small(shape, most) and all(map(_is_small, args)):
    names = [(x, np.broadcast_to(writer.names_of(x), shape)) for x in args]
    found = np.empty(shape, object)
    for index in np.ndindex(*shape):
      parts = [operand(x, n[index]) for x, n in names]
      text = function(*parts)
      if text in parts:  # x * 1 is x, in all lanes if others are.
        kept = next(x for (x, _), p in zip(names, parts) if p == text)
        if kept.lanes < lanes and text[:6] != "Splat<":
          text = writer.splat(text, dtype)
        found[index] = text
      else:
        found[index] = writer.let(text, dtype, lanes)
    return Scalars.of(found, dtype, lanes)
  readable = [writer.readable(x) for x in args]

  def element(index):
    parts = []
    for x in readable:
      own = index[len(index) - len(x.shape) :]
      own = ["0" if n == 1 else i for n, i in zip(x.shape, own)]
      parts.append(operand(x, x.at(own)))
    text = function(*parts)
    return text if text in parts else f"({text})"

  sources = frozenset().union(*(x.reads for x in readable))
  lazy = Lazy(shape, np.dtype(dtype), lanes, element, sources)
  return lazy if equation.once else writer.in_memory(lazy)


def _is_small(value):
  return values.is_small(value.shape)


@rule("add", "add_any", "sub", "mul", "and", "or", "xor")
def _infix(body, equation, *args):
  name, dtype = equation.name, equation.dtype
  sign = (_INFIX | _BITWISE)[name]
  zero, one = cpp.literal(0, dtype), cpp.literal(1, dtype)

  def function(a, b):
    if name in ("add", "add_any") and zero in (a, b):  # As XLA simplifies it.
      return b if a == zero else a
    if name == "mul" and one in (a, b):
      return b if a == one else a
    return f"{a} {sign} {b}"

  return apply(body, equation, args, function, mixed=True)


@rule("div")
def _div(body, equation, *args):
  if cpp.is_float(equation.dtype):
    return apply(body, equation, args, lambda a, b: f"{a} / {b}", mixed=True)
  return apply(body, equation, args, lambda a, b: f"Quotient({a}, {b})")


@rule("neg")
def _neg(body, equation, x):
  return apply(body, equation, [x], lambda a: f"-{a}")


@rule("not")
def _not(body, equation, x):
  return apply(body, equation, [x], lambda a: f"Not({a})")


# Those of a few instructions. Others are many: their text is not repeated.
_SHORT = {"abs", "max", "min", "sign", "sqrt", "square"}
_MOST_LONG = 4


@rule(*_FUNCTIONS)
def _function(body, equation, *args):
  name = _RENAMED.get(equation.name) or cpp.camel(equation.name)
  if equation.dtype == bool:
    sign = {"max": "|", "min": "&"}[equation.name]
    return apply(body, equation, args, lambda a, b: f"{a} {sign} {b}")
  is_short = equation.name in _SHORT or not cpp.is_float(equation.dtype)
  return apply(
      body, equation, args, lambda *x: f"{name}({', '.join(x)})",
      most=values.SMALL if is_short else _MOST_LONG,
  )  # fmt: skip


@rule("pow")
def _pow(body, equation, x, y):
  if y.dtype != x.dtype:  # An integer.
    return body.retrace(lambda a, b: a ** b.astype(a.dtype), x, y)
  return apply(
      body, equation, [x, y], lambda a, b: f"Pow({a}, {b})", most=_MOST_LONG
  )


@rule("round")
def _round(body, equation, x):
  method = equation.params["rounding_method"]
  to_even = method == jax.lax.RoundingMethod.TO_NEAREST_EVEN
  name = "RoundToEven" if to_even else "RoundAway"
  return apply(body, equation, [x], lambda a: f"{name}({a})")


@rule(*_COMPARE)
def _compare(body, equation, *args):
  if args[0].dtype == bool:
    text = _COMPARE_BOOLS[equation.name]
    return apply(body, equation, args, text.format)
  sign = _COMPARE[equation.name]
  mask = body.writer.type_of(bool, any(x.lanes for x in args))

  def function(a, b):
    return (
        f"As<{mask}>({a} {sign} {b})" if mask != "bool" else f"{a} {sign} {b}"
    )

  return apply(body, equation, args, function, mixed=True)


@rule("is_finite")
def _is_finite(body, equation, x):
  mask = body.writer.type_of(bool, x.lanes)
  return apply(body, equation, [x], lambda a: f"IsFinite<{mask}>({a})")


@rule("select_n")
def _select(body, equation, which, *cases):
  if which.dtype == bool:
    return apply(
        body,
        equation,
        [which, *cases],
        lambda m, a, b: f"Select({m}, {b}, {a})",
    )
  lanes = any(x.lanes for x in [which, *cases])
  mask = body.writer.type_of(bool, lanes)

  def function(i, *cases):
    text = cases[0]
    for k, case in enumerate(cases[1:], 1):
      text = f"Select(As<{mask}>({i} == {k}), {case}, {text})"
    return text

  return apply(body, equation, [which, *cases], function)


@rule("clamp")
def _clamp(body, equation, *args):
  return apply(
      body, equation, args, lambda low, x, high: f"Min(Max({x}, {low}), {high})"
  )


@rule("integer_pow")
def _integer_pow(body, equation, x):
  y = equation.params["y"]
  if y == 0:
    one = cpp.literal(1, equation.dtype)
    return apply(body, equation, [x], lambda a: f"{a} * 0 + {one}")
  return apply(body, equation, [x], lambda a: f"Power<{y}>({a})")


@rule("convert_element_type")
def _convert(body, equation, x):
  dtype = equation.params["new_dtype"]
  if x.dtype == dtype or cpp.scalar(x.dtype) == cpp.scalar(dtype):
    return _renamed(x, dtype)
  ctype = body.writer.type_of(dtype, x.lanes)
  name = "Convert"
  if dtype == bool:
    name = "ToMask"
  elif x.dtype == bool:
    name = "FromMask"
  return apply(body, equation, [x], lambda a: f"{name}<{ctype}>({a})")


def _renamed(value, dtype):
  if isinstance(value, values.Constant):
    return values.Constant.of(value.array.astype(dtype))
  return dataclasses.replace(value, dtype=np.dtype(dtype))


@rule("bitcast_convert_type")
def _bitcast(body, equation, x):
  dtype = np.dtype(equation.params["new_dtype"])
  sixteen = {"float16", "bfloat16"}
  if x.dtype.itemsize != dtype.itemsize or sixteen & {x.dtype.name, dtype.name}:
    raise errors.Unsupported(f"of {x.dtype.name} to {dtype.name}")
  ctype = body.writer.type_of(dtype, x.lanes)
  return apply(body, equation, [x], lambda a: f"Bits<{ctype}>({a})")


@rule(
    "copy", "copy_p", "optimization_barrier", "pvary", "stop_gradient",
    "sharding_constraint", "device_put",
)  # fmt: skip
def _same(body, equation, *args):
  del body, equation
  return list(args)


@rule("dimension_as_value", "dim_as_value")
def _dim(body, equation):
  del body
  text = f"static_cast<{cpp.scalar(equation.dtype)}>"
  text += f"({cpp.dim(equation.params['dim'])})"
  return Scalars.of(values.objects([text], ()), equation.dtype, False)
