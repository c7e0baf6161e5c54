# SPDX-License-Identifier: Apache-2.0
"""The page on BUILD files is what docstrings say, and how these are read."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized

import api_docs
import docstrings
import starlark_api

_ROOT = pathlib.Path(__file__).parent.parent

_MACRO = '''
load("//a:other.bzl", _renamed = "rule_of_other")

renamed = _renamed

def macro(name, copts = [":x"], visibility = None, **kwargs):
    """Makes it.

    Args:
      name: of it.
      copts: options that
          go on.
      visibility: of it.
      **kwargs: the rest.
    """
    select({})
'''
_RULE = """
rule_of_other = repository_rule(
    implementation = len,
    attrs = {
        "_hidden": attr.label(),
        "lock": attr.label(mandatory = True, doc = "What."),
        "path": attr.string(doc = "Where."),
    },
    doc = "A rule.",
)
"""


class ApiDocsTest(parameterized.TestCase):

  def run_files(self, macro=_MACRO):
    root = pathlib.Path(self.create_tempdir().full_path)
    (root / "a").mkdir()
    (root / "a/file.bzl").write_text(macro)
    (root / "a/other.bzl").write_text(_RULE)
    return starlark_api.run(root, "a/file.bzl")

  def test_page(self):
    self.assertEqual(
        (_ROOT / api_docs.PAGE).read_text("utf-8"),
        api_docs.api(_ROOT),
        "Run bazel run //tools:api_docs, and commit what it writes.",
    )

  def test_macro(self):
    described = starlark_api.describe(self.run_files()["macro"])
    expected = {
        "name": ("required", "of it."),
        "copts": ('`[":x"]`', "options that go on."),
        "visibility": ("`None`", "of it."),
        "**kwargs": ("", "the rest."),
    }
    self.assertEqual(described, ("macro", "Makes it.", expected))

  def test_repository_rule_of_another_file(self):
    kind, text, arguments = self.run_files()["renamed"]
    self.assertEqual((kind, text), ("repository rule", "A rule."))
    self.assertEqual(list(arguments), ["name", "lock", "path"])
    self.assertEqual(arguments["lock"], ("required", "What."))
    self.assertEqual(arguments["path"], ('`""`', "Where."))

  @parameterized.parameters("      visibility: of it.\n", "visibility = None, ")
  def test_docstring_and_arguments_that_differ(self, line):
    macro = self.run_files(_MACRO.replace(line, ""))["macro"]
    with self.assertRaisesRegex(ValueError, "macro takes .*visibility|has .*v"):
      starlark_api.describe(macro)

  def test_targets(self):
    path = self.create_tempfile(
        content="# SPDX: x\n\n# A\n# flag.\nf(\n  name = 'a',\n"
        "  build_setting_default = True,\n)\n\nf(name = 'b')\n"
    )
    found = starlark_api.targets(pathlib.Path(path.full_path))
    self.assertEqual(found, {"a": ("`True`", "A flag.")})

  def test_code_in_a_docstring(self):
    text, sections = docstrings.parse("A:\n\n  b = 1\n\n  c = 2\n\nD.\n")
    self.assertEqual(text, "A:\n\n```python\nb = 1\n\nc = 2\n```\n\nD.")
    self.assertEmpty(sections)


if __name__ == "__main__":
  absltest.main()
