# SPDX-License-Identifier: Apache-2.0
"""What ops and dimensions can be called in Python and in C++."""

from collections.abc import Iterable
import keyword
import re
import sys

_CPP_KEYWORDS = frozenset("""
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char
    char8_t char16_t char32_t class co_await co_return co_yield compl concept
    const const_cast consteval constexpr constinit continue decltype default
    delete do double dynamic_cast else enum explicit export extern false float
    for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert
    static_cast struct switch template this thread_local throw true try typedef
    typeid typename union unsigned using virtual void volatile wchar_t while xor
    xor_eq
""".split())

# Modules and namespaces that an op's files or jax_ffi_ops use by these names.
_TAKEN = frozenset("""
    absl absltest benchmarks doctor ffi internal jax jax_ffi_ops jaxlib jnp kit
    load np numpy ops python reference std testing tests tools xla xla_ffi_ops
""".split())
_SUFFIXES = ("_ext", "_ffi", "_test")

# What the C++ around an index calls things, beside operands and results.
_LOCALS = frozenset("Acc Dims T dims int64_t sum".split())


def check_op(name: str) -> None:
  """Raises ValueError if an op cannot have this name."""
  if not re.fullmatch("[a-z][a-z0-9_]*", name):
    problem = "must be of a-z, 0-9 and _, and begin with a letter"
  elif "__" in name or name.endswith("_"):
    problem = "must have no '__', and no '_' at its end"
  elif keyword.iskeyword(name) or keyword.issoftkeyword(name):
    problem = "is a keyword of Python"
  elif name in _CPP_KEYWORDS:
    problem = "is a keyword of C++"
  elif name in sys.stdlib_module_names:
    problem = "is a module of Python"
  elif name in _TAKEN:
    problem = "is a name that an op's files use for something else"
  elif name.endswith(_SUFFIXES):
    problem = f"must not end in {', '.join(_SUFFIXES)}: an op's files do"
  else:
    return
  raise ValueError(f"The name {name!r} {problem}.")


def check_dimensions(
    dims: Iterable[str], arrays: Iterable[str], signature: str
) -> None:
  """Raises ValueError if the dimensions of arrays cannot have these names."""
  used = _LOCALS.union(
      *({name, name.upper(), f"{name}_row"} for name in arrays)
  )
  for dim in dims:
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", dim) or "__" in dim:
      problem = "must be of letters, digits and single _, in ASCII"
    elif keyword.iskeyword(dim) or dim in _CPP_KEYWORDS:
      problem = "is a keyword of Python or C++"
    elif dim in used:
      problem = "is a name that the C++ uses for something else"
    else:
      continue
    raise ValueError(f"The dimension {dim!r} of {signature!r} {problem}.")
