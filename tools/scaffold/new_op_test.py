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


class NewOpTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    self.working = self.root

  def scaffold(self, name="my_op", *options):
    """Runs the program as Bazel does; returns what it prints."""
    environment = {
        "BUILD_WORKSPACE_DIRECTORY": str(self.root),
        "BUILD_WORKING_DIRECTORY": str(self.working),
    }
    return new_op.run([name, *options], environment)

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
    self.scaffold("row_dot", "--backward")
    for path, text in self.files().items():
      template = (_HERE / path).read_text("utf-8")
      template = re.sub(r" *(#|//) --backward [{}]\n", "", template)
      self.assertEqual(text, template.replace('    tags = ["slow"],\n', ""))

  @parameterized.parameters(False, True)
  def test_nothing_of_row_dot_is_left(self, here):
    if here:
      self.make_checkout()
    self.scaffold()
    for path, text in self.files().items():
      if "my_op" in path:
        self.assertNotRegex(text, r"(?i)row_?dot|--")

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

  @parameterized.product(
      here=(False, True),
      backward=(False, True),
      dtypes=(None, "float64,bfloat16", "float32"),
  )
  def test_options(self, here, backward, dtypes):
    """That they build and pass their tests, .ci/new_op.py says of some."""
    if here:
      self.make_checkout()
    before = self.files()
    options = ["--backward"] * backward
    self.scaffold("my_op", *options, *([f"--dtypes={dtypes}"] * bool(dtypes)))
    found = self.files()
    text = "\n".join(found[path] for path in found if "my_op" in path)
    for path in found:
      if path.endswith(".py"):
        compile(found[path], path, "exec")
    for word in ("ComputeBackward(", "BatchRank(", "my_op_bwd, Backward"):
      self.assertEqual(word in text, backward)
    if here:
      listed = found[_LISTS].count('"my_op"') - before[_LISTS].count('"my_op"')
      self.assertEqual(listed, 1 if backward else 2)
    else:
      self.assertEqual('"my_op_bwd"' in text, backward)
    # The test's operands have one of the dtypes.
    self.assertEqual('Operand((8,), "float64")' in text, "64" in (dtypes or ""))
    python, native = {
        None: ("kit.FLOATING", "FloatTypes"),
        "float64,bfloat16": (
            '("float64", "bfloat16")',
            "Types<double, xla_ffi_ops::BFloat16>",
        ),
        "float32": ('("float32",)', "Types<float>"),
    }[dtypes]
    self.assertIn(f"    dtypes={python},\n", text)
    self.assertIn(f"using RowTypes = xla_ffi_ops::{native};", text)

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

  @parameterized.parameters("int32", "", "float32,", "float32,float32")
  def test_bad_dtypes(self, dtypes):
    message = "must be some of float16,bfloat16,.* each once, got"
    self.check_refused(message, "my_op", f"--dtypes={dtypes}")

  def test_there_is_something_of_that_name(self):
    self.scaffold()
    self.check_refused("my_op/.* is there already")

  def test_outside_of_the_workspace(self):
    self.working = pathlib.Path(self.create_tempdir().full_path)
    self.check_refused("is outside of the workspace")

  def test_without_bazel(self):
    with self.assertRaisesRegex(ValueError, "Run it by `bazel run`"):
      new_op.run(["my_op"], {})

  def test_a_build_file_without_the_lists(self):
    self.make_checkout()
    (self.root / _LISTS).write_text("")
    self.check_refused("no 'cpu_only = .' to add '\"my_op\", ' to")


if __name__ == "__main__":
  absltest.main()
