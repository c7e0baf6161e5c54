# SPDX-License-Identifier: Apache-2.0
"""C++ types, literals and expressions."""

from collections.abc import Sequence
import dataclasses
import math
import re
from typing import Any

import jax
import numpy as np

from jax_ffi_ops.loops import errors

# 16-bit floating-point numbers are computed in float. They are rounded when a
# result is stored, and where another type is converted to theirs.
_TYPES = {
    "bool": "bool", "float16": "float", "bfloat16": "float",
    "float32": "float", "float64": "double",
}  # fmt: skip
for _n in (8, 16, 32, 64):
  _TYPES |= {f"int{_n}": f"int{_n}_t", f"uint{_n}": f"uint{_n}_t"}
# What buffers of XLA have, where it is another type.
_STORED = {"float16": "Float16", "bfloat16": "BFloat16"}


@dataclasses.dataclass(frozen=True)
class Code:
  """A piece of C++. Two of the same text are equal.

  Attributes:
    text: all of it.
    reads: the names of the kernel's constants in it.
    number: its value, if it is a number of an index or a size.
    is_operation: whether it needs parentheses beside `*`.
    is_typed: whether it is of its dtype's type. C++ computes small integers as
      int.
    factors: both, if it is a product of floats.
  """

  text: str
  reads: frozenset[str] = dataclasses.field(default=frozenset(), compare=False)
  number: int | None = dataclasses.field(default=None, compare=False)
  is_operation: bool = dataclasses.field(default=False, compare=False)
  is_typed: bool = dataclasses.field(default=False, compare=False)
  factors: Any = dataclasses.field(default=None, compare=False)

  @property
  def is_constant(self) -> bool:
    """Whether it is the name of a constant."""
    return self.reads == {self.text}


def code(template: str, *parts: Any, **options: Any) -> Code:
  """Returns a piece of C++ that is made of others, and of texts."""
  pieces = [x for x in parts if isinstance(x, Code)]
  return Code(
      template.format(*(x.text if isinstance(x, Code) else x for x in parts)),
      frozenset().union(*(x.reads for x in pieces)),
      **options,
  )


def joined(operator: str, pieces: Sequence[Code]) -> Code:
  """Returns pieces, at least one, with an operator between them."""
  if len(pieces) == 1:
    return pieces[0]
  template = f" {operator} ".join(["{}"] * len(pieces))
  return code(template, *pieces, is_operation=True)


def listed(pieces: Sequence[Code]) -> Code:
  """Returns pieces in braces."""
  return code("{{%s}}" % ", ".join(["{}"] * len(pieces)), *pieces)


def multiplied(a: Code, b: Code) -> Code:
  """Returns the product of floats, which sums do not round."""
  return code("{} * {}", a, b, factors=(a, b))


def camel(name: str) -> str:
  """Returns CamelCase of snake_case."""
  return "".join(part.capitalize() for part in name.split("_"))


def variable(dim: str) -> str:
  """Returns the C++ name of a dimension, which itself may be a keyword."""
  return f"size_{dim}"


def scalar(dtype: Any) -> str:
  """Returns the C++ type in which an element is computed."""
  name = np.dtype(dtype).name
  if name not in _TYPES:
    raise errors.Unsupported(f"dtype {name}")
  return _TYPES[name]


def vector(dtype: Any) -> str:
  """Returns the C++ type of one element per lane."""
  name = scalar(dtype)
  return "mask_v" if name == "bool" else name.removesuffix("_t") + "_v"


def type_of(dtype: Any, lanes: bool) -> str:
  return vector(dtype) if lanes else scalar(dtype)


def inner(expression: Code, dtype: Any, lanes: bool) -> Code:
  """Returns an expression for use in another: C++ has small integers as int."""
  dtype = np.dtype(dtype)
  is_plain = is_float(dtype) or dtype.itemsize >= 4
  if is_plain or expression.is_typed:
    return expression
  return code("Convert<{}>({})", type_of(dtype, lanes), expression)


def stored(dtype: Any) -> str:
  return _STORED.get(np.dtype(dtype).name) or scalar(dtype)


def is_rounded(dtype: Any) -> bool:
  """Returns whether numbers are computed in more bits than they have."""
  return np.dtype(dtype).name in _STORED


def ffi_type(dtype: Any) -> str:
  """Returns XLA's name of a dtype."""
  dtype = np.dtype(dtype)
  kind = {"bool": "PRED", "bfloat16": "BF16"}.get(dtype.name)
  return kind or f"{dtype.kind.replace('i', 's').upper()}{8 * dtype.itemsize}"


def is_float(dtype: Any) -> bool:
  return jax.numpy.issubdtype(dtype, np.floating)


def is_complex(dtype: Any) -> bool:
  return jax.dtypes.issubdtype(dtype, np.complexfloating)


def real(dtype: Any) -> np.dtype:
  """Returns the dtype of the two parts of a complex number, or the same one."""
  return np.finfo(dtype).dtype if is_complex(dtype) else dtype


def limits(dtype: Any) -> tuple[Any, Any]:
  """Returns the least and the largest number, or the infinities."""
  if np.dtype(dtype) == bool:
    return False, True
  if is_float(dtype):
    return -np.inf, np.inf
  return np.iinfo(dtype).min, np.iinfo(dtype).max


def literal(value: Any, dtype: Any) -> str:
  """Returns an element as a C++ expression of its scalar type."""
  ctype = scalar(dtype)
  if ctype == "bool":
    return "true" if value else "false"
  if not is_float(dtype):
    number = int(value)
    if number == np.iinfo(dtype).min and number:
      return f"std::numeric_limits<{ctype}>::min()"
    suffix = "u" if np.dtype(dtype).kind == "u" else ""
    return f"{ctype}{{{number}{suffix}}}"
  number = float(value)
  if math.isnan(number):
    return f"std::numeric_limits<{ctype}>::quiet_NaN()"
  if math.isinf(number):
    sign = "-" if number < 0 else ""
    return f"({sign}std::numeric_limits<{ctype}>::infinity())"
  text = str(np.float32(number)) if ctype == "float" else repr(number)
  suffix = "f" if ctype == "float" else ""
  return f"({text}{suffix})" if text[0] == "-" else text + suffix


def string(text: str) -> str:
  """Returns a text as a C++ literal without spaces, where lines may break."""
  plain = lambda x: chr(x).isalnum() or x in b"_-+.,:/"
  return '"%s"' % "".join(
      chr(x) if x < 128 and plain(x) else f"\\{x:03o}" for x in text.encode()
  )


def size(shape: Sequence[Any]) -> Any:
  """Returns the number of elements: an int, or a jax.export dimension."""
  return math.prod(shape)


def dim(number: Any) -> Code:
  """Returns a size as a C++ expression: open dimensions are variables."""
  text = str(number)
  if isinstance(number, (int, np.integer)):
    return Code(text, number=int(number))
  power = lambda found: "*".join([found[1]] * int(found[2]))
  text = re.sub(r"(\w+)\^(\d+)", power, text)
  if "(" in text.replace("mod(", "") or "^" in text:
    raise errors.Unsupported(f"the size {text} of an open dimension")
  text = text.replace("mod(", "Modulo(")
  return Code(f"({text})" if "+" in text or "-" in text else text)


ZERO = dim(0)


def product(a: Any, b: Any) -> Code:
  """Returns a * b: a size and an expression, or two of either."""
  parts = [x if isinstance(x, Code) else dim(x) for x in (a, b)]
  numbers = [x.number for x in parts if x.number is not None]
  if 0 in numbers or len(numbers) == 2:
    return dim(math.prod(numbers))
  parts = [code("({})", x) if x.is_operation else x for x in parts]
  parts = [x for x in parts if x.number != 1]
  return joined("*", parts)


def add(*terms: Code) -> Code:
  """Returns the sum of expressions, its numbers added up."""
  number = sum(x.number for x in terms if x.number is not None)
  terms = [x for x in terms if x.number is None]
  if number or not terms:
    terms.append(dim(number))
  return joined("+", terms)


def strides(shape: Sequence[Any]) -> tuple[Any, ...]:
  """Returns those of an array without gaps."""
  return tuple(size(shape[d + 1 :]) for d in range(len(shape)))
