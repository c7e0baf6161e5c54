# SPDX-License-Identifier: Apache-2.0
"""What new_op writes, and where, and what it refuses."""

import pathlib
import re
import shutil

from absl.testing import absltest
from absl.testing import parameterized

import new_op

_HERE = pathlib.Path(__file__).parent
# In this repository, files that are edited.
_EXPORTS = "python/jax_ffi_ops/__init__.py"
_LISTS = "python/jax_ffi_ops/ops/BUILD.bazel"

_SIGNATURES = (
    "()->()",
    "(),()->()",
    "(n)->(n)",
    "(n),(n)->()",
    "(uv),(uv)->()",
    "(3),(3)->(3)",
    "(n)->(),(n)",
    "(n,n)->(n)",
    "(m,n)->(n,m)",
    "(m,n),(n,p)->(p,m)",
    "(rows,cols),(cols)->(rows)",
    "(a,b),(b,c),(c)->(a),()",
    "(NULL,true),(true,EOF),(for)->(EOF,for)",
    " ( m , n ) -> ( m ) ",
)


class NewOpTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    self.working = self.root

  def scaffold(self, name="my_op", signature="(n),(n)->()"):
    """Runs the program as Bazel does; returns what it prints."""
    environment = {
        "BUILD_WORKSPACE_DIRECTORY": str(self.root),
        "BUILD_WORKING_DIRECTORY": str(self.working),
    }
    return new_op.run([name, "--signature", signature], environment)

  def files(self):
    """Returns the texts of all files in the workspace."""
    paths = (path for path in self.root.rglob("*") if path.is_file())
    return {str(p.relative_to(self.root)): p.read_text("utf-8") for p in paths}

  def make_checkout(self):
    """Makes the workspace this repository, as far as the program can see."""
    for name in (_EXPORTS, _LISTS):
      (self.root / name).parent.mkdir(parents=True, exist_ok=True)
      shutil.copyfile(_HERE.parents[1] / name, self.root / name)
    marker = self.root / "xla_ffi_ops/ops/op.bzl"
    marker.parent.mkdir(parents=True)
    marker.touch()

  def check_refused(self, message, *args):
    before = self.files()
    with self.assertRaisesRegex((OSError, ValueError), message):
      self.scaffold(*args)
    self.assertEqual(self.files(), before)

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

  def test_row_dot_is_the_template(self):
    self.scaffold("row_dot")
    for path, text in self.files().items():
      template = (_HERE / path).read_text("utf-8")
      self.assertEqual(text, template.replace('    tags = ["slow"],\n', ""))

  @parameterized.parameters(False, True)
  def test_nothing_of_row_dot_is_left(self, here):
    if here:
      self.make_checkout()
    self.scaffold("my_op", "(m)->(m)")
    for path, text in self.files().items():
      if "my_op" in path:
        self.assertNotRegex(
            text, r"row_?dot|RowDot|ROW|\b[in]_n|x0|x1|_sum|,n\b|\bn,"
        )

  def test_here(self):
    self.make_checkout()
    before = self.files()
    for name in ("my_op", "an_op"):
      told = self.scaffold(name)
    found = self.files()
    native, tests = "xla_ffi_ops/ops/an_op/", "tests/ops/an_op/"
    new = [
        *(native + file for file in ("BUILD.bazel", "an_op.h", "an_op_ffi.cc")),
        *(tests + file for file in ("BUILD.bazel", "an_op_test.py")),
        "python/jax_ffi_ops/ops/an_op.py",
    ]
    self.assertContainsSubset(new, set(found) - set(before))
    for path in (*new, _EXPORTS, _LISTS):
      self.assertIn(path, told)
      self.assertIn("SPDX-License-Identifier: Apache-2.0", found[path])
    self.assertIn("./bazelw test //tests/ops/an_op:all", told)
    self.assertIn(
        "\n  from jax_ffi_ops.ops.an_op import an_op as an_op\n",
        found[_EXPORTS],
    )
    for argument in ("cpu_only", "forward_only"):
      listed = [
          re.findall(
              '"(.*?)"', text[_LISTS].split(argument + " = [")[1].split("]")[0]
          )
          for text in (before, found)
      ]
      # The formatter sorts them.
      self.assertCountEqual(listed[1], [*listed[0], "an_op", "my_op"])

  @parameterized.product(signature=_SIGNATURES, here=(False, True))
  def test_signatures(self, signature, here):
    """That they build and pass their tests, .ci/new_op.py says of some."""
    if here:
      self.make_checkout()
    self.scaffold("my_op", signature)
    for path, text in self.files().items():
      if path.endswith(".py"):
        compile(text, path, "exec")
      if path.endswith("/my_op.py"):
        self.assertIn(f'signature="{signature.replace(" ", "")}"', text)

  @parameterized.parameters(
      ("My_op", "'My_op' must be of a-z"),
      ("../op", r"'\.\./op' must be of a-z"),
      ("my_op_", "'my_op_' must be of a-z, 0-9 and single _"),
      ("lambda", "'lambda' is a keyword of Python"),
      ("math", "'math' is a name that an op's files use"),
      ("kit", "'kit' is a name that an op's files use"),
  )
  def test_bad_names(self, name, message):
    self.check_refused(message, name)

  @parameterized.parameters(
      ("n->n", "'n->n' is not a signature"),
      ("(n)->(k)", r"the result dimension 'k' of '\(n\)->\(k\)'"),
      ("(n),(n)?->()", r"writes no operands to leave out, which '\?'"),
      ("(n,*)->(n,*)", r"writes no trailing loops, which '\*' in '\(n,\*\)"),
      ("(n)->(n,n)", r"the result \(n,n\), with a dimension twice"),
      ("(2h),(h)->(h)", "cannot write the multiple '2h': begin"),
      ("(ñ)->()", "the dimension 'ñ'"),
      (f"({','.join(f'd{i}' for i in range(53))})->()", "more dimensions than"),
  )
  def test_bad_signatures(self, signature, message):
    self.check_refused(message, "my_op", signature)

  def test_there_is_something_of_that_name(self):
    self.scaffold()
    self.check_refused("my_op/.* is there already")

  def test_outside_of_the_workspace(self):
    self.working = pathlib.Path(self.create_tempdir().full_path)
    self.check_refused("is outside of the workspace")

  def test_without_bazel(self):
    with self.assertRaisesRegex(ValueError, "Run it by `bazel run`"):
      new_op.run(["my_op", "--signature", "()->()"], {})

  def test_a_build_file_without_the_lists(self):
    self.make_checkout()
    (self.root / _LISTS).write_text("")
    self.check_refused("no 'cpu_only = .' to add '\"my_op\", ' to")


if __name__ == "__main__":
  absltest.main()
