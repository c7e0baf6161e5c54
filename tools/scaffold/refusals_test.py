# SPDX-License-Identifier: Apache-2.0
"""What new_op refuses, and that it then leaves nothing behind."""

import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

import new_op
from workspace_case import EDITED
from workspace_case import WorkspaceCase


class RefusalsTest(WorkspaceCase):

  def _check_refused(self, message, *args):
    paths, before = sorted(self.root.rglob("*")), self.files()
    with self.assertRaisesRegex((OSError, ValueError), message):
      self.scaffold(*args)
    self.assertEqual(self.files(), before)
    self.assertEqual(sorted(self.root.rglob("*")), paths)  # And no folders.

  @parameterized.parameters(
      ("My_op", "'My_op' must be of a-z"),
      ("1op", "'1op' must be of a-z"),
      ("my-op", "'my-op' must be of a-z"),
      ("../op", r"'\.\./op' must be of a-z"),
      ("", "'' must be of a-z"),
      ("öl", "'öl' must be of a-z"),
      ("my__op", "'my__op' must have no '__'"),
      ("my_op_", "'my_op_' must have no '__', and no '_' at its end"),
      ("lambda", "'lambda' is a keyword of Python"),
      ("switch", "'switch' is a keyword of C[+][+]"),
      ("math", "'math' is a module of Python"),
      ("kit", "'kit' is a name that an op's files use"),
      ("my_ext", "'my_ext' must not end in _ext, _ffi, _test"),
  )
  def test_bad_names(self, name, message):
    self._check_refused(message, name)

  @parameterized.parameters(
      ("(n)", r"'\(n\)' is not a signature"),
      ("n->n", "'n->n' is not a signature"),
      ("(n)->(k)", r"The result dimension 'k' of '\(n\)->\(k\)'"),
      ("(1)->(1)", r"The dimension '1' in '\(1\)' is not a name"),
      (
          "(n),(n)?->()",
          r"writes no operands that calls may leave out, which '\?'",
      ),
      ("(n,*)->(n,*)", r"writes no trailing loops, which '\*' in '\(n,\*\)"),
      ("(n)->(n,n)", r"The result \(n,n\) of '\(n\)->\(n,n\)' has .* twice"),
      ("(for)->()", r"The dimension 'for' of '\(for\)->\(\)' is a keyword"),
      ("(int)->()", "The dimension 'int' .* is a keyword"),
      ("(ñ)->()", "The dimension 'ñ' .* must be of letters"),
      ("(a__b)->()", "The dimension 'a__b' .* must be of letters"),
      ("(x)->()", "The dimension 'x' .* is a name that the C[+][+] uses"),
      ("(dims)->()", "The dimension 'dims' .* is a name that the C[+][+] uses"),
      (f"({','.join(f'd{i}' for i in range(27))})->()", "has 27 dimensions"),
  )
  def test_bad_signatures(self, signature, message):
    self._check_refused(message, "my_op", signature)

  def test_there_is_something_of_that_name(self):
    (self.root / "my_op").mkdir()
    self._check_refused("my_op is there already")

  def test_a_link_to_nowhere_is_not_followed(self):
    (self.root / "my_op").symlink_to("nowhere")
    self._check_refused("my_op is there already")

  def test_outside_of_the_workspace(self):
    self.working = pathlib.Path(self.create_tempdir().full_path)
    self._check_refused("is outside of the workspace")
    self.assertEmpty([*self.working.iterdir()])

  def test_without_bazel(self):
    with self.assertRaisesRegex(ValueError, "Run it by `bazel run`"):
      new_op.run(["my_op", "--signature", "()->()"], {})

  def test_an_op_is_here_already(self):
    self.make_checkout()
    self.scaffold("softplus")
    self._check_refused("softplus.* is there already", "softplus")

  def test_nothing_is_left_of_what_fails(self):
    self.make_checkout()
    (self.root / "tests").touch()  # Where a folder has to be.
    self._check_refused("tests")

  def test_nothing_is_left_when_an_edit_fails(self):
    self.make_checkout()
    write = pathlib.Path.write_text
    with mock.patch.object(pathlib.Path, "write_text", autospec=True) as fails:
      fails.side_effect = lambda path, text, encoding: (
          write(path, text[:9], encoding),
          _fail(),
      )
      self._check_refused("disk full")

  def test_a_build_file_without_the_lists(self):
    self.make_checkout()
    (self.root / EDITED[1]).write_text("")
    self._check_refused("has no list 'cpu_only' to add 'my_op' to")


def _fail():
  raise OSError("disk full")


if __name__ == "__main__":
  absltest.main()
