# SPDX-License-Identifier: Apache-2.0
"""Where what is compiled is kept, and whom a folder may belong to."""

import os
import pathlib
import stat
import tempfile
from unittest import mock
import warnings

from absl.testing import absltest
import testing

from jax_ffi_ops.kit.toolchain import folders
import python_process

_OTHER = 12345


class FoldersTest(testing.ToolchainTest):

  def owned(self, *paths):
    """Lets files belong to another user."""
    real_stat, real_lstat = os.stat, os.lstat
    ids = {(s.st_dev, s.st_ino) for s in map(os.lstat, paths)}

    def changed(found):
      if (found.st_dev, found.st_ino) not in ids:
        return found
      values = list(found)
      values[stat.ST_UID] = _OTHER
      return os.stat_result(values)

    for name, real in (("stat", real_stat), ("lstat", real_lstat)):
      fake = lambda *args, real=real, **kwargs: changed(real(*args, **kwargs))
      self.enter_context(mock.patch.object(os, name, fake))

  def test_is_made_for_this_user_alone(self):
    self.assertEqual(folders.standard(), str(self.folder))
    self.assertEqual(stat.S_IMODE(self.folder.stat().st_mode), 0o700)
    self.assertEqual(folders.standard(), str(self.folder))

  def test_xdg_cache_home(self):
    del os.environ[folders.VARIABLE]
    os.environ["XDG_CACHE_HOME"] = str(self.home / "xdg")
    self.assertEqual(folders.standard(), str(self.home / "xdg/jax_ffi_ops"))

  def test_relative_xdg_cache_home(self):
    del os.environ[folders.VARIABLE]
    os.environ["XDG_CACHE_HOME"] = "xdg"
    self.assertEqual(folders.standard(), str(self.home / ".cache/jax_ffi_ops"))
    self.assertFalse(os.path.exists("xdg"))

  def test_relative_folder(self):
    os.environ[folders.VARIABLE] = "here"
    with self.assertRaisesRegex(folders.Untrusted, "not an absolute path"):
      folders.standard()

  def test_no_home(self):
    """HOME is missing, relative, or another user's: then that of the user."""
    del os.environ[folders.VARIABLE]
    os.environ.pop("XDG_CACHE_HOME", None)
    others = self.home / "others"
    others.mkdir()
    own = self.home / "own"
    own.mkdir()
    user = mock.Mock(pw_dir=str(own))
    self.owned(others)
    with mock.patch.object(folders.pwd, "getpwuid", lambda _: user):
      for home in (None, "relative", str(self.home / "none"), str(others)):
        os.environ.pop("HOME", None)
        if home is not None:
          os.environ["HOME"] = home
        with self.subTest(home):
          self.assertEqual(folders.standard(), f"{own}/.cache/jax_ffi_ops")
    self.assertEmpty(os.listdir(others))

  def test_user_without_folder(self):
    del os.environ[folders.VARIABLE], os.environ["HOME"]
    os.environ.pop("XDG_CACHE_HOME", None)
    with mock.patch.object(folders.pwd, "getpwuid", side_effect=KeyError):
      with self.assertRaisesRegex(folders.Untrusted, "no folder"):
        folders.standard()

  def test_others_can_write(self):
    self.folder.mkdir()
    for mode in (0o770, 0o702):
      self.folder.chmod(mode)
      with self.assertRaisesRegex(folders.Untrusted, "written by others"):
        folders.standard()
    self.folder.chmod(0o755)
    folders.standard()

  def test_another_owner(self):
    self.folder.mkdir()
    self.owned(self.folder)
    with self.assertRaisesRegex(folders.Untrusted, "written by others"):
      folders.standard()

  def test_every_parent(self):
    nested = self.home / "a/b/c"
    nested.mkdir(parents=True, mode=0o700)
    os.environ[folders.VARIABLE] = str(nested / "cache")
    folders.standard()
    for parent in (nested, nested.parent, nested.parent.parent):
      with self.subTest(parent):
        before = stat.S_IMODE(parent.stat().st_mode)
        for mode in (0o777, 0o770):
          parent.chmod(mode)
          with self.assertRaisesRegex(folders.Untrusted, "others can rename"):
            folders.standard()
        parent.chmod(0o1777)  # As /tmp has it.
        folders.standard()
        parent.chmod(before)

  def test_owner_of_a_parent(self):
    parent = self.home / "parent"
    parent.mkdir(0o700)
    os.environ[folders.VARIABLE] = str(parent / "cache")
    folders.standard()
    self.owned(parent)
    with self.assertRaisesRegex(folders.Untrusted, "others can rename"):
      folders.standard()

  def test_folder_that_is_a_link(self):
    (self.home / "elsewhere").mkdir(0o700)
    self.folder.symlink_to(self.home / "elsewhere")
    with self.assertRaisesRegex(folders.Untrusted, "not a folder"):
      folders.standard()

  def test_links_above_are_resolved_before_they_are_checked(self):
    unsafe = self.home / "unsafe"
    unsafe.mkdir()
    (unsafe / "inner").mkdir(0o700)
    unsafe.chmod(0o777)
    (self.home / "link").symlink_to(unsafe / "inner")
    os.environ[folders.VARIABLE] = str(self.home / "link/cache")
    with self.assertRaisesRegex(folders.Untrusted, "others can rename"):
      folders.standard()
    unsafe.chmod(0o700)
    self.assertEqual(folders.standard(), str(unsafe / "inner/cache"))

  def test_noexec(self):
    flags = mock.Mock(f_flag=os.ST_NOEXEC)
    with mock.patch.object(os, "statvfs", lambda _: flags):
      with self.assertRaisesRegex(folders.Untrusted, "noexec"):
        folders.standard()
      with self.assertRaisesRegex(OSError, "no temporary folder"):
        folders.private()

  def test_private_folder_where_tmp_is_noexec(self):
    tmp = tempfile.gettempdir()
    flags = lambda path: mock.Mock(f_flag=os.ST_NOEXEC if path == tmp else 0)
    with mock.patch.object(os, "statvfs", flags):
      other = pathlib.Path(folders.private()).parent
    self.assertIn(str(other), folders._TEMPORARY)

  def test_private_folder(self):
    path = folders.private()
    self.assertEqual(path, folders.private())
    self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o700)

  def test_private_folder_ends_with_the_process_that_made_it(self):
    process = python_process.run(
        "-c",
        "import os, sys\n"
        "from jax_ffi_ops.kit.toolchain import folders\n"
        "own = folders.private()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "  assert folders.private() != own\n"
        "  sys.exit()\n"  # With what atexit runs.
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert os.path.isdir(own)\n"
        "print(own)",
    )
    self.assertEqual(process.returncode, 0, process.stderr)
    self.assertFalse(os.path.exists(process.stdout.strip()))

  def test_one_warning(self):
    with warnings.catch_warnings(record=True) as caught:
      warnings.simplefilter("always")
      folders.warn("a")
      folders.warn("b")
    self.assertLen(caught, 1)
    self.assertIn("JAX_FFI_OPS_CACHE", str(caught[0].message))
    self.assertEqual(caught[0].filename, __file__)


class OwnersTest(absltest.TestCase):

  def test_owners(self):
    self.assertEqual(folders.owners(), {0, os.geteuid()})


if __name__ == "__main__":
  absltest.main()
