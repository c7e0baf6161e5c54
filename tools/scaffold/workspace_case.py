# SPDX-License-Identifier: Apache-2.0
"""What the tests of new_op have in common."""

import pathlib
import shutil

from absl.testing import parameterized

import new_op

_ROOT = pathlib.Path(__file__).parents[2]
# In this repository, files that are edited.
EDITED = (
    "python/jax_ffi_ops/__init__.py",
    "python/jax_ffi_ops/ops/BUILD.bazel",
)


class WorkspaceCase(parameterized.TestCase):
  """A test in an empty workspace: `root`, and the folder `working` in it."""

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
    for name in EDITED:
      (self.root / name).parent.mkdir(parents=True, exist_ok=True)
      shutil.copyfile(_ROOT / name, self.root / name)
    marker = self.root / "xla_ffi_ops/ops/op.bzl"
    marker.parent.mkdir(parents=True)
    marker.touch()
