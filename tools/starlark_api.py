# SPDX-License-Identifier: Apache-2.0
"""Describes what .bzl files define: macros, repository rules, extensions.

Starlark is nearly a part of Python. So a file is run as Python, with stand-ins
for Bazel's own functions. Stardoc was no choice: it needs a Java program, and a
bzl_library for each file that is loaded.
"""

import ast
import inspect
import pathlib
from typing import Any, NamedTuple
from unittest import mock

import docstrings

_REQUIRED = "required"
_EMPTY = {
    **{"bool": False, "int": 0, "string": ""},
    **{"label_list": [], "string_list": [], "string_list_dict": {}},
}


def _literal(value):
  """Returns a value as Starlark has it, for Markdown."""
  return "`{}`".format(repr(value).replace("'", '"'))


class _Label(str):

  def __repr__(self):
    return f'Label("{self}")'


class _Attributes:
  """Stands in for `attr`: each kind makes a default and a meaning."""

  def __getattr__(self, kind):
    def attribute(default=None, doc="", mandatory=False, **_):
      if default is None:
        default = _EMPTY.get(kind)
      return _REQUIRED if mandatory else _literal(default), doc

    return attribute


class Table(NamedTuple):
  """A definition that takes arguments.

  Attributes:
    kind: what it is: "macro", "repository rule" and so on.
    text: what its docstring says before the arguments.
    arguments: default and meaning of each, as Markdown.
  """

  kind: str
  text: str
  arguments: dict[str, tuple[str, str]]


def _rule(kind):
  def rule(*_, doc="", attrs=None, tag_classes=None, **__):
    public = {n: a for n, a in (attrs or {}).items() if n[0] != "_"}
    if named := {"rule": "target", "repository rule": "repository"}.get(kind):
      public = {"name": (_REQUIRED, f"Name of the {named}.")} | public
    text = inspect.cleandoc(doc)
    for name, tag in (tag_classes or {}).items():
      text += f"\n\nThe arguments are those of its tag `{name}`. {tag.text}"
      public |= tag.arguments
    return Table(kind, text, public)

  return rule


def run(root: pathlib.Path, path: str) -> dict[str, Any]:
  """Returns the names of a .bzl file of this repository, and their values."""
  package = path.rpartition("/")[0]

  def load(label, *names, **renamed):
    renamed |= {name: name for name in names}
    if label.startswith("@"):
      values = dict.fromkeys(renamed.values(), mock.MagicMock())
    else:
      folder, _, file = label.removeprefix("//").rpartition(":")
      values = run(root, f"{folder or package}/{file}")
    for name, of in renamed.items():
      scope[name] = values[of]

  scope = {
      **dict.fromkeys(("config", "provider", "struct"), mock.MagicMock()),
      "Label": _Label,
      "attr": _Attributes(),
      "load": load,
      "module_extension": _rule("module extension"),
      "repository_rule": _rule("repository rule"),
      "rule": _rule("rule"),
      "select": lambda _: [],
      "tag_class": _rule("tag"),
  }
  exec(compile((root / path).read_text("utf-8"), path, "exec"), scope)
  return scope


def describe(value: Any) -> Table:
  """Describes what a public name of a .bzl file is.

  Raises:
    ValueError: the docstring of a macro does not have exactly its arguments.
  """
  if isinstance(value, Table):
    return value
  text, sections = docstrings.parse(value.__doc__)
  meanings = docstrings.entries(sections.pop("Args", ""))
  parameters = {
      ("**" if p.kind is p.VAR_KEYWORD else "") + name: p.default
      for name, p in inspect.signature(value).parameters.items()
  }
  if parameters.keys() != meanings.keys():
    raise ValueError(
        f"{value.__name__} takes {[*parameters]}, but its docstring has"
        f" {[*meanings]}."
    )
  return Table(
      "macro",
      text,
      {n: (_default(n, x), meanings[n]) for n, x in parameters.items()},
  )


def _default(name, value):
  if name.startswith("**"):
    return ""
  return _REQUIRED if value is inspect.Parameter.empty else _literal(value)


def targets(build_file: pathlib.Path) -> dict[str, tuple[str, str]]:
  """Returns default and comment of the commented targets of a BUILD file."""
  found = {}
  text = build_file.read_text("utf-8")
  lines = text.splitlines()
  for node in ast.parse(text).body:
    comment = docstrings.comment_above(lines, node.lineno)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
      values = {k.arg: k.value for k in node.value.keywords}
      if comment and "name" in values:
        default = values.get("build_setting_default")
        found[ast.literal_eval(values["name"])] = (
            _literal(ast.literal_eval(default)) if default else "",
            comment,
        )
  return found
