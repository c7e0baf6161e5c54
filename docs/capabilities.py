# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of capabilities.md, from the declarations of the ops.

bazel run //docs:capabilities
"""

import ast
from collections.abc import Iterator, Sequence
import importlib
import pathlib
import re

import jax.numpy as jnp
import speeds

from jax_ffi_ops import kit
from jax_ffi_ops import linalg

_PACKAGE = pathlib.Path("python/jax_ffi_ops")
_KINDS = {
    "floating-point": kit.FLOATING,
    "integers": [d for d in kit.NUMBERS if jnp.issubdtype(d, jnp.integer)],
    "bool": [jnp.dtype(bool)],
}
_NAMESAKE = re.compile(r"\b(?:jax|scipy)(?:\.\w+)+")


def _dtypes(allowed) -> str:
  """Returns dtypes, by kinds where all of a kind are among them."""
  allowed, parts = set(allowed), []
  for kind, dtypes in _KINDS.items():
    if allowed.issuperset(dtypes):
      parts.append(kind)
      allowed.difference_update(dtypes)
  others = sorted(
      allowed, key=lambda dtype: (dtype.kind != "f", dtype.itemsize)
  )
  return ", ".join(parts + [f"`{dtype.name}`" for dtype in others])


def _derivatives(op, function, forward_only: Sequence[str]) -> str:
  if op.name not in forward_only:
    return "backward handler"
  if op.is_linear:
    return "`transpose`"
  names = ("jvp", "backward")
  given = (f"`{name}`" for name in names if getattr(op.derivatives, name))
  rule = next(given, None)
  if not rule and "indices" in function.__doc__.partition("Returns:")[2]:
    return "none: indices have no gradients"
  return rule or "the reference"


def _lists_of_build_file() -> dict[str, list[str]]:
  """Returns the lists that python_ops gets, by their names."""
  tree = ast.parse((_PACKAGE / "ops/BUILD.bazel").read_text("utf-8"))
  return {
      keyword.arg: ast.literal_eval(keyword.value)
      for node in ast.walk(tree)
      if isinstance(node, ast.Call) and ast.unparse(node.func) == "python_ops"
      for keyword in node.keywords
      if keyword.arg in ("cpu_only", "forward_only")
  }


def _functions(folder: str) -> Iterator[tuple[str, object]]:
  for path in sorted((_PACKAGE / folder).glob("[!_]*.py")):
    module = importlib.import_module(f"jax_ffi_ops.{folder}.{path.stem}")
    yield path.stem, getattr(module, path.stem)


def _namesake(function) -> str:
  """Returns the module that has a function of the same name, or another one."""
  found = _NAMESAKE.search(function.__doc__)
  name = found[0].removesuffix(f".{function.__name__}") if found else ""
  return f"`{name}`" if name else ""


def _speed_up(function: str) -> str:
  """Returns what was measured, from the least machine to the best."""
  found = speeds.speed_ups(function)
  ends = sorted({min(found), max(found)}) if found else []
  return " to ".join(f"{end:g}×" for end in ends)


def ops() -> Iterator[Sequence[str]]:
  """Yields the rows of the ops."""
  lists = _lists_of_build_file()
  for name, function in _functions("ops"):
    op = kit.ops_of(function)[0].declaration
    yield (
        f"`{name}`",
        _namesake(function),
        _dtypes(frozenset().union(*(x or () for x in op.dtypes))),
        _derivatives(op, function, lists["forward_only"]),
        "CPU" if op.name in lists["cpu_only"] else "CPU, CUDA",
        "pieces" if op.split else "gathered",
        _speed_up(name),
    )


def composed() -> Iterator[Sequence[str]]:
  """Yields the rows of functions that are made of ops."""
  for name, function in _functions("composed"):
    like, made_of = _namesake(function), _made_of(name)
    yield f"`{name}`", like, made_of, _speed_up(name)


def small_matrices() -> Iterator[Sequence[str]]:
  """Yields the rows of functions of linalg."""
  for name, function in sorted(vars(linalg).items()):
    if callable(function):
      made_of = {x.declaration.name: x for x in kit.ops_of(function)}
      found = ", ".join(f"`{op}`" for op in made_of)
      first = next(iter(made_of.values())).declaration
      dtypes = _dtypes(first.dtypes[0])
      yield f"`{name}`", _namesake(function), found, dtypes


def _made_of(name: str) -> str:
  """Returns the ops that the modules of a function import."""
  found, waiting = set(), [f"composed/{name}"]
  while waiting:
    text = (_PACKAGE / f"{waiting.pop()}.py").read_text("utf-8")
    for pattern in (r"ops\.(?!common)(\w+) import", r"ops import (\w+)"):
      found.update(re.findall(r"from jax_ffi_ops\." + pattern, text))
    for pattern in (
        r"from jax_ffi_ops\.composed\.(\w+) import",
        r"from jax_ffi_ops\.composed import (\w+)",
    ):
      waiting += [f"composed/{x}" for x in re.findall(pattern, text)]
  return ", ".join(f"`{op}`" for op in sorted(found)) or "jax.numpy alone"


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
  lines = [head, ["---"] * len(head), *rows]
  return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def tables() -> dict[str, str]:
  """Returns the tables by the names of their regions."""
  return {
      "dtypes": _table(
          ["word", "dtypes"],
          (
              (word, ", ".join(f"`{dtype.name}`" for dtype in dtypes))
              for word, dtypes in _KINDS.items()
              if len(dtypes) > 1
          ),
      ),
      "ops": _table(
          ["op", "as in", "dtypes of the handler", "gradients by", "handlers"]
          + ["a split row", "speed-up"],
          ops(),
      ),
      "composed": _table(
          ["function", "as in", "made of", "speed-up"], composed()
      ),
      "linalg": _table(
          ["function", "as in", "made of", "dtypes of the handlers"],
          small_matrices(),
      ),
  }


if __name__ == "__main__":
  for text in tables().values():
    print(text)
