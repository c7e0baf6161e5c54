# SPDX-License-Identifier: Apache-2.0
"""What new_op writes, and where."""

import pathlib
import re

from absl.testing import absltest
from absl.testing import parameterized

import files
from workspace_case import EDITED
from workspace_case import WorkspaceCase

# What the scaffold has written.
_WRITTEN = pathlib.Path(__file__).with_name("row_dot")

_SIGNATURES = (
    "()->()",
    "(),()->()",
    "(n)->(n)",
    "(n),(n)->()",
    "(d),(d)->(d)",
    "(n)->(),(n)",
    "(n,n)->(n)",
    "(n,n,n)->()",
    "(m,n)->(n,m)",
    "(m,n),(n,p)->(m,p)",
    "(m,n),(n,p)->(p,m)",
    "(rows,cols),(cols)->(rows)",
    "(a,b),(b,c),(c)->(a),()",
    " ( m , n ) -> ( m ) ",
)


class NewOpTest(WorkspaceCase):

  def test_in_a_project(self):
    self.working = self.root / "some/where"
    self.working.mkdir(parents=True)
    told = self.scaffold()
    ends = (".h", ".py", "_ffi.cc", "_test.py")
    names = ["BUILD.bazel", "__init__.py", *("my_op" + end for end in ends)]
    found = self.files()
    self.assertCountEqual(found, [f"some/where/my_op/{n}" for n in names])
    for path in found:
      self.assertIn(path, told)
    self.assertIn("bazel test //some/where/my_op:all", told)
    self.assertIn("my_op_test.py: the definition in NumPy", told)

  def test_here(self):
    self.make_checkout()
    before = self.files()
    told = self.scaffold("my_op", "(d),(d)->(d)")
    found = self.files()
    native, tests = "xla_ffi_ops/ops/my_op/", "tests/ops/my_op/"
    new = [
        *(native + name for name in ("BUILD.bazel", "my_op.h", "my_op_ffi.cc")),
        *(tests + name for name in ("BUILD.bazel", "my_op_test.py")),
        "benchmarks/ops/my_op.py",
        "python/jax_ffi_ops/ops/my_op.py",
    ]
    self.assertCountEqual(set(found) - set(before), new)
    for path in (*new, *EDITED):
      self.assertIn(path, told)
    self.assertIn("./bazelw test //tests/ops/my_op:all", told)
    for path in new:
      self.assertIn("SPDX-License-Identifier: Apache-2.0", found[path])

  def test_entries_are_sorted(self):
    self.make_checkout()
    added = ("my_op", "an_op", "zap")
    for name in added:
      self.assertIn("no benchmark", self.scaffold(name))
    exports, build = (self.files()[path] for path in EDITED)
    start = "  from jax_ffi_ops.ops."
    lines = [x for x in exports.splitlines() if x.startswith(start)]
    self.assertEqual(lines, sorted(lines))
    self.assertContainsSubset(
        [f"{start}{n} import {n} as {n}" for n in added], lines
    )
    for argument in ("cpu_only", "forward_only"):
      (names,) = re.findall(
          rf'^    {argument} = \[\n((?:        "\w+",\n)*)    \],$',
          build,
          re.MULTILINE,
      )
      names = names.split()
      self.assertEqual(names, sorted(names))
      self.assertContainsSubset([f'"{n}",' for n in added], names)

  def test_an_entry_behind_a_long_one(self):
    self.make_checkout()
    exports = self.root / EDITED[0]
    long = "  from jax_ffi_ops.ops.x import (\n      x as x,\n  )\n"
    exports.write_text(long + "\n")
    self.scaffold("zap")
    long += "  from jax_ffi_ops.ops.zap import zap as zap\n"
    self.assertEqual(exports.read_text(), long + "\n")

  def test_a_long_entry(self):
    self.make_checkout()
    name = "an_op_with_a_name"
    self.scaffold(name)
    lines = self.files()[EDITED[0]]
    start = f"  from jax_ffi_ops.ops.{name} import "
    self.assertIn(f"{start}(\n      {name} as {name},\n  )\n", lines)

  def test_what_is_committed_is_what_it_writes(self):
    self.scaffold("row_dot")
    committed = {
        f"row_dot/{path.name}": path.read_text("utf-8")
        for path in _WRITTEN.iterdir()
        if path.is_file()
    }
    build = "row_dot/BUILD.bazel"
    committed[build] = committed[build].replace('    tags = ["slow"],\n', "")
    self.assertEqual(self.files(), committed)

  @parameterized.product(signature=_SIGNATURES, here=(False, True))
  def test_signatures(self, signature, here):
    if here:
      self.make_checkout()
    self.scaffold("my_op", signature)
    for path, text in self.files().items():
      self.assertNotIn("${", text)
      if path.endswith(".py"):
        compile(text, path, "exec")
      if path.endswith("/my_op.py") and "benchmark" not in path:
        self.assertIn(f'signature="{signature.replace(" ", "")}"', text)

  def test_formatter(self):
    tool = self.root / "tool"
    tool.write_text("#!/bin/sh\ntr a-z A-Z\n")
    tool.chmod(0o755)
    formatter = files.Formatter(str(tool), "style", "config")
    texts = {pathlib.PurePath(name): "text" for name in ("a.cc", "BUILD.bazel")}
    found = files.formatted(texts, formatter)
    self.assertEqual([*found.values()], ["TEXT", "text"])


if __name__ == "__main__":
  absltest.main()
