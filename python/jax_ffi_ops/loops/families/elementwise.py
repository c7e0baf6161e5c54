# SPDX-License-Identifier: Apache-2.0
"""Primitives that compute each element of an array alone."""

from collections.abc import Callable, Sequence
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import values
from jax_ffi_ops.loops.rules import rule

# By C++'s own operators. A scalar beside a vector stands for all lanes.
_OPERATORS = {
    "add": "+", "add_any": "+", "and": "&", "div": "/", "eq": "==", "ge": ">=",
    "gt": ">", "le": "<=", "lt": "<", "mul": "*", "ne": "!=", "or": "|",
    "sub": "-", "xor": "^",
}  # fmt: skip
# For bools: where a mask is true, all of its bits are set. That is -1, not 1.
_OF_BOOLS = {
    "clamp": "({1} | {0}) & {2}", "eq": "Not({}) ^ {}", "ge": "{} | Not({})",
    "gt": "{} & Not({})", "le": "Not({}) | {}", "lt": "Not({}) & {}",
    "max": "{} | {}", "min": "{} & {}", "ne": "{} ^ {}",
}  # fmt: skip
# By functions of vec/lanes. {t} is the type of the result.
_CALLS = {
    "clamp": "Min(Max({1}, {0}), {2})",
    "clz": "LeadingZeros({})",
    "is_finite": "IsFinite<{t}>({})",
    "neg": "-{}",
    "nextafter": "NextAfter({}, {})",
    "population_count": "CountBits({})",
    "rem": "Remainder({}, {})",
}
# By functions of the same names in CamelCase.
_SHORT = (
    "abs", "max", "min", "not", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "sign", "sqrt", "square",
)  # fmt: skip
_LONG = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "bessel_i0e",
    "bessel_i1e", "cbrt", "ceil", "cosh", "digamma", "erf", "erf_inv", "erfc",
    "exp", "exp2", "expm1", "floor", "igamma", "igamma_grad_a", "igammac",
    "lgamma", "log", "log1p", "logistic", "pow", "rsqrt", "sinh", "tan", "tanh",
    "zeta",
)  # fmt: skip
# Functions of many instructions are written one by one for at most so many
# elements. For more, there is a loop.
_MOST_LONG = 8
# Of floats: products, and sums that do not round them (MulAdd).
_FUSED = ("add", "add_any", "mul", "square", "sub")
# What changes no number, as XLA simplifies it.
_NEUTRAL = {"add": 0, "add_any": 0, "mul": 1}


def apply(
    body: Any,
    equation: Any,
    args: Sequence[values.Value],
    function: Callable[..., cpp.Code],
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

  def operand(value, text):
    splats = value.lanes < lanes and (not mixed or value.dtype == bool)
    return writer.splat(text, value.dtype, splats)

  if values.is_small(shape, most) and all(
      values.is_small(x.shape) for x in args
  ):
    names = [(x, np.broadcast_to(writer.names_of(x), shape)) for x in args]
    found = np.empty(shape, object)
    for index in np.ndindex(*shape):
      parts = [operand(x, n[index]) for x, n in names]
      text = function(*parts)
      is_part = text in parts  # x * 1 is x.
      found[index] = text if is_part else writer.let(text, dtype, lanes)
    return values.Scalars.of(found, dtype, lanes)
  readable = [writer.readable(x) for x in args]

  def element(index):
    parts = []
    for x in readable:
      own = index[len(index) - len(x.shape) :]
      own = [cpp.ZERO if n == 1 else i for n, i in zip(x.shape, own)]
      parts.append(operand(x, x.at(own)))
    text = function(*parts)
    if text in parts:
      return text
    return writer.named(cpp.code("({})", cpp.inner(text, dtype, lanes)), text)

  lazy = values.Lazy(shape, np.dtype(dtype), lanes, element, readable, True)
  # What reads a small array writes its elements one by one, not in a loop.
  is_lazy = equation.uses == (1,) and not values.is_small(shape)
  return lazy if is_lazy else writer.in_memory(lazy)


def template(name: str, dtype: Any, places: int = 2) -> str:
  """Returns the C++ of a primitive, whose operands are of a dtype."""
  if dtype == bool and name in _OF_BOOLS:
    return _OF_BOOLS[name]
  if name in _OPERATORS:
    return f"{{}} {_OPERATORS[name]} {{}}"
  call = f"{cpp.camel(name)}({', '.join(['{}'] * places)})"
  return _CALLS.get(name, call)


@rule(*_OPERATORS, *_CALLS, *_SHORT, *_LONG)
def _by_table(body, equation, *args):
  name, dtype = equation.name, equation.dtype
  if name == "div" and not cpp.is_float(dtype):
    name = "quotient"
  if name == "pow" and args[1].dtype != dtype:  # An integer.
    return body.retrace(lambda a, b: a ** b.astype(a.dtype), *args)
  text = template(name, args[0].dtype, len(args))
  ctype = cpp.type_of(dtype, any(x.lanes for x in args))
  mixed = name in _OPERATORS and args[0].dtype != bool
  # A comparison.
  is_typed = mixed and dtype != args[0].dtype and ctype != "bool"
  if is_typed:
    text = f"As<{ctype}>({text})"
  neutral = None
  if name in _NEUTRAL:
    lanes = all(x.lanes for x in args)
    neutral = body.writer.literal(_NEUTRAL[name], dtype, lanes)

  fuses = cpp.is_float(dtype) and name in _FUSED

  def function(*parts):
    if neutral in parts:
      return parts[0] if parts[1] == neutral else parts[1]
    if fuses and name in ("mul", "square"):
      return cpp.multiplied(parts[0], parts[-1])
    if fuses:
      return body.writer.sum(*parts, _OPERATORS[name])
    return cpp.code(text.replace("{t}", ctype), *parts, is_typed=is_typed)

  is_long = name in (*_LONG, "nextafter", "rem") and cpp.is_float(dtype)
  most = _MOST_LONG if is_long else values.SMALL
  return apply(body, equation, args, function, mixed, most)


@rule("add_any", of_patches=True)
def _add_any(body, equation, x, y):
  """Adds gradients. That of a part of an array changes the part alone."""
  if isinstance(x, values.Patch):
    x, y = y, x
  if not isinstance(y, values.Patch):
    return _by_table(body, equation, x, y)
  if isinstance(x, values.Patch):
    return x.with_another(y)
  lanes = x.lanes or y.lanes
  keep = body.writer.copied if x.reads & y.reads else body.changing
  out = keep(x, lanes)
  y.write(out, True)
  return out


@rule("cos", "sin")
def _sin_cos(body, equation, x):
  """Computes both in one if both are read."""
  writer, n = body.writer, cpp.dim(x.size)
  x = writer.in_memory(x)
  if not x.is_contiguous or x.buffer.kind not in values.POINTERS:
    x = writer.copied(x, x.lanes)
  (other,) = {"cos", "sin"} - {equation.name}
  twin = body.twin(equation, other)
  to = {equation.name: writer.buffer(x.shape, x.dtype, x.lanes)}
  if twin is not None:
    to[other] = writer.buffer(x.shape, x.dtype, x.lanes)
  names = [to[k].buffer.name if k in to else "nullptr" for k in ("sin", "cos")]
  begin = cpp.code("{} + {}", x.buffer.name, x.place([]))
  writer.line("SinCos({}, {}, {}, {});", n, begin, *names)
  if twin is not None:
    body.know(twin, body.loaded(to[other]))
  return body.loaded(to[equation.name])


@rule("round")
def _round(body, equation, x):
  method = equation.params["rounding_method"]
  to_even = method == jax.lax.RoundingMethod.TO_NEAREST_EVEN
  name = "RoundToEven" if to_even else "RoundAway"
  return apply(body, equation, [x], lambda a: cpp.code("{}({})", name, a))


@rule("select_n")
def _select(body, equation, which, *cases):
  if which.dtype == bool:
    choose = lambda mask, a, b: cpp.code("Select({}, {}, {})", mask, b, a)
    return apply(body, equation, [which, *cases], choose)

  def by_number(i, found, *others):
    for k, case in enumerate(others, 1):
      found = jnp.where(i == k, case, found)
    return found

  return body.retrace(by_number, which, *cases)


@rule("eq_to", "le_to", "lt_to")
def _total_order(body, equation, *args):
  compare = getattr(jax.lax, equation.name.removesuffix("_to"))
  return body.retrace(lambda *x: compare(*map(ordered_bits, x)), *args)


def ordered_bits(x: jax.Array) -> jax.Array:
  """Returns integers in the total order of numbers.

  -0.0 is less than 0.0, and infinity is less than NaN.
  """
  if not cpp.is_float(x.dtype):
    return x
  x = x if x.dtype.itemsize > 2 else x.astype(np.float32)
  bits = jax.lax.bitcast_convert_type(x, f"int{8 * x.dtype.itemsize}")
  return jnp.where(bits < 0, bits ^ jnp.iinfo(bits.dtype).max, bits)


@rule("integer_pow")
def _integer_pow(body, equation, x):
  y = equation.params["y"]
  if y == 0:
    return body.retrace(jnp.ones_like, x)
  if y == 2:
    return apply(body, equation, [x], lambda a: cpp.multiplied(a, a))
  return apply(body, equation, [x], lambda a: cpp.code("Power<{}>({})", y, a))


@rule("convert_element_type")
def _convert(body, equation, x):
  dtype = equation.params["new_dtype"]
  ctype = cpp.type_of(dtype, x.lanes)
  # Integers of one byte are exact in 16 bits.
  rounds = cpp.is_rounded(dtype) and x.dtype.itemsize > 1 and x.dtype != dtype
  is_same = cpp.scalar(x.dtype) == cpp.scalar(dtype)
  if isinstance(x, values.Constant) and (rounds or is_same):
    return values.Constant.of(x.array.astype(dtype))
  if rounds:
    name = f"RoundedTo<{cpp.stored(dtype)}, {ctype}>"
    return apply(body, equation, [x], lambda a: cpp.code("{}({})", name, a))
  if is_same:
    return dataclasses.replace(x, dtype=np.dtype(dtype))
  name = "ToMask" if dtype == bool else "Convert"
  name = "FromMask" if x.dtype == bool else name
  return apply(
      body, equation, [x], lambda a: cpp.code("{}<{}>({})", name, ctype, a)
  )


@rule("bitcast_convert_type")
def _bitcast(body, equation, x):
  dtype = np.dtype(equation.params["new_dtype"])
  halves = [d for d in (x.dtype, dtype) if cpp.is_rounded(d)]
  if x.dtype == dtype:
    return x
  if x.dtype.itemsize != dtype.itemsize or len(halves) > 1:
    raise errors.Unsupported(f"of {x.dtype.name} to {dtype.name}")
  ctype = cpp.type_of(dtype, x.lanes)
  name = f"Bits<{ctype}>"
  if halves:
    name = f"HalfBits<{cpp.stored(*halves)}, {ctype}>"
  return apply(body, equation, [x], lambda a: cpp.code("{}({})", name, a))


@rule(
    "copy", "optimization_barrier", "pvary", "stop_gradient",
    "sharding_constraint", "device_put", of_keys=True,
)  # fmt: skip
def _same(body, equation, *args):
  del body, equation
  return list(args)


@rule("dim_as_value", folds=False)
def _dim(body, equation):
  del body
  ctype, n = cpp.scalar(equation.dtype), cpp.dim(equation.params["dim"])
  text = cpp.code("static_cast<{}>({})", ctype, n)
  return values.Scalars.of(values.objects([text], ()), equation.dtype, False)
