# SPDX-License-Identifier: Apache-2.0
"""Describes what a Python package exports, from its sources alone.

Nothing is imported, so that no version of jax changes what is found.
"""

import ast
from collections.abc import Iterator
import pathlib
import textwrap

import docstrings

# The methods that are public. Others serve the kit and the suite.
_MEMBERS = {
    "Library": ("__init__", "register", "ensure_registered"),
    "Op": ("targets", "library", "primitive"),
}


def _file(root, module):
  path = root / "python" / module.replace(".", "/")
  package = path / "__init__.py"
  return package if package.exists() else path.with_suffix(".py")


def _lines(lines, node):
  """Returns a definition as it is written, without its body."""
  first = min(x.lineno for x in [node, *getattr(node, "decorator_list", [])])
  last = node.body[0].lineno - 1 if hasattr(node, "body") else node.end_lineno
  code = textwrap.dedent("\n".join(lines[first - 1 : last]))
  return code.rstrip().removesuffix(":")


def _names(node):
  if isinstance(node, ast.Assign):
    return [target.id for target in node.targets]
  return [getattr(node, "name", None)]


def _described(lines, node, prefix=""):
  """Yields heading, code, and docstring of a definition and of its members."""
  (name,) = _names(node)
  if isinstance(node, ast.Assign):
    comment = docstrings.comment_above(lines, node.lineno)
    yield name, _lines(lines, node), comment
    return
  if not isinstance(node, ast.ClassDef):
    yield prefix + name, _lines(lines, node), ast.get_docstring(node)
    return
  fields = [
      textwrap.indent(_lines(lines, x), "  ")
      for x in node.body
      if isinstance(x, ast.AnnAssign)
  ]
  head = "\n".join([_lines(lines, node) + ":" * bool(fields), *fields])
  yield name, head, ast.get_docstring(node)
  for member in node.body:
    if getattr(member, "name", None) in _MEMBERS.get(name, ()):
      yield from _described(lines, member, name + ".")


def overview(root: pathlib.Path, package: str) -> str:
  """Returns what a package says of itself."""
  text = _file(root, package).read_text("utf-8")
  return docstrings.parse(ast.get_docstring(ast.parse(text)))[0]


def exported(
    root: pathlib.Path, package: str
) -> Iterator[tuple[str, str, str | None]]:
  """Yields what `describe` needs of each name that a package exports.

  These are what it defines, and what it imports by `import x as x`.
  """
  path = _file(root, package)
  text = path.read_text("utf-8")
  tree = ast.parse(text)
  for node in ast.walk(tree):
    if isinstance(node, ast.ImportFrom):
      source = _file(root, node.module or "")
      names = [x.name for x in node.names if x.name == x.asname]
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and (
        node in tree.body and node.name[0] != "_"
    ):
      source, names = path, [node.name]
    else:
      continue
    for name in names:
      found = source.read_text("utf-8")
      for definition in ast.parse(found).body:
        if name in _names(definition):
          yield from _described(found.splitlines(), definition)


def describe(name: str, code: str, docstring: str | None) -> str:
  """Returns the part of a page about one name."""
  if not docstring:
    raise ValueError(f"{name} has no docstring.")
  text, sections = docstrings.parse(docstring)
  parts = [f"### {name}", f"```python\n{code}\n```", text]
  for title, section in sections.items():
    found = docstrings.entries(section)
    listed = "\n".join(f"* `{n}`: {meaning}" for n, meaning in found.items())
    parts += [f"{title}:", listed or section]
  return "\n\n".join(part.strip() for part in parts)
