# SPDX-License-Identifier: Apache-2.0
"""Finds the messages of errors in sources.

What a message gets when it is made is `...` here, and in errors.md.
"""

import ast
import pathlib
import re

_HERE = pathlib.Path(__file__).parent
# Control flow of the suite: nobody sees these.
_INTERNAL = ("frames.py", "legality.py", "placed.py", "runtime.py")
_ROW = re.compile(r"(?m)^\| (`.*?`) \|")
_CALL = re.compile(
    r"\b(Fail|Internal|InvalidArgument|invalid_argument|runtime_error)\("
)


def _text(node: ast.AST) -> str:
  """Returns the string that an expression makes, as far as it is there."""
  match node:
    case ast.Constant(value=str(value)):
      return value
    case ast.JoinedStr(values=parts):
      return "".join(map(_text, parts))
    case ast.BinOp(op=ast.Add()):
      return _text(node.left) + _text(node.right)
    case ast.Call(func=ast.Attribute(value=value, attr="format")):
      return re.sub(r"{[^}]*}", "...", _text(value))
    case ast.Call(
        func=ast.Attribute(value=value, attr="join"), args=[ast.List() as parts]
    ):
      return _text(value).join(map(_text, parts.elts))
  return "..."


def _calls(path: pathlib.Path) -> list[ast.AST]:
  """Returns the first arguments of what raises or fails in a file."""
  tree = ast.parse(path.read_text("utf-8"))
  if path.suffix == ".bzl":
    called = [x for x in ast.walk(tree) if isinstance(x, ast.Call)]
    return [x.args[0] for x in called if ast.unparse(x.func) == "fail"]
  raised = [x.exc for x in ast.walk(tree) if isinstance(x, ast.Raise)]
  found = [x.args[0] for x in raised if isinstance(x, ast.Call) and x.args]
  made = {
      ast.unparse(x.func).split(".")[-1] for x in found if hasattr(x, "func")
  }
  for node in ast.walk(tree):  # Messages that a function of the file makes.
    if isinstance(node, ast.FunctionDef) and node.name in made:
      found += [x.value for x in ast.walk(node) if isinstance(x, ast.Return)]
  return found


def _arguments(text: str, start: int) -> list[str]:
  """Returns the arguments of a call in C++ that begin at `start`."""
  depth, quoted, parts = 0, False, [""]
  for i, char in enumerate(text[start:], start):
    if char == '"' and text[i - 1] != "\\":
      quoted = not quoted
    depth += 0 if quoted else (char in "([{") - (char in ")]}")
    if depth < 0:
      break
    if char == "," and depth == 0 and not quoted:
      parts.append("")
    else:
      parts[-1] += char
  return parts


def _literals(expression: str) -> str:
  """Returns the string of an expression in C++, with `...` for the rest."""
  pieces = re.split(r'"((?:[^"\\]|\\.)*)"', expression)
  return "".join(
      piece if i % 2 else "..." * bool(re.sub(r"[\s+]", "", piece))
      for i, piece in enumerate(pieces)
  )


def _of_cpp(path: pathlib.Path) -> list[str]:
  text = re.sub(r"//.*", "", path.read_text("utf-8"))
  found = []
  for call in _CALL.finditer(text):
    arguments = _arguments(text, call.end())
    if call[1] != "Fail":
      found.append(_literals(arguments[0]))
    elif len(arguments) == 3:
      found.append(f"... must {_literals(arguments[1])}, got ...")
  return found


def of(path: pathlib.Path) -> list[str]:
  """Returns the messages in a file of Python, Starlark or C++."""
  if path.name in _INTERNAL:
    return []
  if path.suffix in (".py", ".bzl"):
    found = list(map(_text, _calls(path)))
  else:
    found = _of_cpp(path)
  return [re.sub(r"(\.\.\.)+", "...", " ".join(x.split())) for x in found]


def sources(root: pathlib.Path) -> list[pathlib.Path]:
  """Returns the files whose messages users see, in a copy of the repository."""
  folders = ("python/jax_ffi_ops", "xla_ffi_ops", "third_party", "tools/wheel")
  suffixes = (".py", ".bzl", ".cc", ".h", ".cuh")
  return [
      path
      for folder in folders
      for path in sorted((root / folder).rglob("*"))
      if path.suffix in suffixes
      and (path.suffix != ".py" or folder == "python/jax_ffi_ops")
  ]


def entries() -> list[str]:
  """Returns the messages that errors.md explains."""
  cells = _ROW.findall((_HERE / "errors.md").read_text("utf-8"))
  return [x.strip() for cell in cells for x in re.findall("`+([^`]+)`+", cell)]


def matches(entry: str, message: str) -> bool:
  """Whether an entry is for a message: `...` in it stands for anything."""
  pattern = ".*".join(map(re.escape, entry.split("...")))
  return re.fullmatch(pattern, message.replace("`", "")) is not None
