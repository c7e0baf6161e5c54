# SPDX-License-Identifier: Apache-2.0
"""What the cache returns, and what it refuses and removes."""

import os
import pathlib
import stat
import threading
import time
from unittest import mock

from absl.testing import absltest
import testing

from jax_ffi_ops.kit.toolchain import cache

_KEYS = ["0" * 64, "1" * 64, "2" * 64]


class CacheTest(testing.ToolchainTest):

  def setUp(self):
    super().setUp()
    self.folder.mkdir(0o700)
    self.cache = cache.Cache(str(self.folder))

  def store(self, key=_KEYS[0], content=b"object"):
    with self.cache.making() as folder:
      path = pathlib.Path(folder)
      (path / "f.so").write_bytes(content)
      (path / "f.cc").write_text("text")
      (path / "rest.o").write_text("rest")
      return pathlib.Path(self.cache.store(folder, key, "f.so", "f.cc"))

  def found(self, key=_KEYS[0]):
    return self.cache.find(key, "f.so")

  def test_stores_and_finds(self):
    self.assertIsNone(self.found())
    path = self.store()
    self.assertEqual(self.found(), str(path))
    self.assertEqual(path.read_bytes(), b"object")
    self.assertCountEqual(os.listdir(path.parent), ["f.so", "f.cc", "sha256"])
    self.assertEqual(os.listdir(self.folder), [_KEYS[0]])

  def test_others_can_write_nothing(self):
    before = os.umask(0)
    try:
      path = self.store()
    finally:
      os.umask(before)
    for item in (path.parent, *path.parent.iterdir()):
      self.assertFalse(stat.S_IMODE(item.stat().st_mode) & 0o077, item)
    self.assertEqual(self.found(), str(path))

  def test_changed_content(self):
    path = self.store()
    path.write_bytes(b"another")
    self.assertIsNone(self.found())
    self.assertEqual(self.store().read_bytes(), b"object")

  def test_missing_and_damaged_hash(self):
    path = self.store()
    hash_file = path.with_name("sha256")
    good = hash_file.read_bytes()
    for bad in (b"", b"\xff", good[:-1], b"0" * 64):
      hash_file.write_bytes(bad)
      self.assertIsNone(self.found())
    hash_file.unlink()
    self.assertIsNone(self.found())

  def test_links(self):
    path = self.store()
    for name in ("f.so", "sha256"):
      file = path.with_name(name)
      moved = self.home / name
      file.rename(moved)
      file.symlink_to(moved)
      self.assertIsNone(self.found())
      file.unlink()
      moved.rename(file)
      self.assertEqual(self.found(), str(path))
    path.parent.rename(self.home / "moved")
    path.parent.symlink_to(self.home / "moved")
    self.assertIsNone(self.found())
    self.store()
    self.assertFalse(path.parent.is_symlink())

  def test_no_regular_file(self):
    path = self.store()
    path.unlink()
    os.mkfifo(path)  # Nobody writes: to open it would take for ever.
    self.assertIsNone(self.found())

  def test_file_that_others_can_write(self):
    path = self.store()
    for name in ("f.so", "sha256"):
      file = path.with_name(name)
      for mode in (0o702, 0o720):
        file.chmod(mode)
        self.assertIsNone(self.found())
      file.chmod(0o700)
    self.assertIsNotNone(self.found())

  def test_file_of_another_owner(self):
    path = self.store()
    real = os.fstat

    def other(descriptor):
      values = list(real(descriptor))
      values[stat.ST_UID] = 12345
      return os.stat_result(values)

    with mock.patch.object(os, "fstat", other):
      self.assertIsNone(self.found())
    self.assertEqual(self.found(), str(path))

  def test_first_of_two_is_kept(self):
    """The second returns the first one's, which may be loaded already."""
    first = self.store()
    inode = first.stat().st_ino
    self.assertEqual(self.store(content=b"other"), first)
    self.assertEqual(first.stat().st_ino, inode)
    self.assertEqual(first.read_bytes(), b"object")

  def test_file_in_place_of_an_entry(self):
    (self.folder / _KEYS[0]).write_text("")
    self.assertEqual(self.store().read_bytes(), b"object")

  def test_many_at_once(self):
    """Of whatever is found, all is there."""
    end = time.monotonic() + 2
    wrong = []

    def work():
      try:
        while time.monotonic() < end:
          self.store()
          self.cache.clear()
          if path := self.found():
            try:
              content = pathlib.Path(path).read_bytes()
            except FileNotFoundError:  # Another thread cleared it.
              continue
            if content != b"object":
              wrong.append(content)
      except Exception as error:
        wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join()
    self.assertEmpty(wrong)

  def test_entry_that_cannot_be_replaced(self):
    self.store().write_bytes(b"another")
    with mock.patch.object(cache.Cache, "_remove"):
      with self.assertRaisesRegex(FileExistsError, "cannot be replaced"):
        self.store()

  def test_least_recently_used_is_removed(self):
    os.environ[cache.VARIABLE] = "1"
    paths = [self.store(key, bytes(400_000)).parent for key in _KEYS[:2]]
    for path, age in zip(paths, (3000, 2000)):
      os.utime(path, (time.time() - age,) * 2)
    self.assertIsNotNone(self.found(_KEYS[0]))  # Now it is the newest.
    self.store(_KEYS[2], bytes(400_000))
    self.assertCountEqual(os.listdir(self.folder), [_KEYS[0], _KEYS[2]])

  def test_what_is_used_now_is_kept(self):
    os.environ[cache.VARIABLE] = "0"
    for key in _KEYS:
      self.store(key)
    self.assertCountEqual(os.listdir(self.folder), _KEYS)

  def test_what_a_killed_process_left(self):
    for name, age in (("making_old", 100_000), ("making_new", 1000)):
      path = self.folder / name
      path.mkdir()
      (path / "file").write_text("")
      os.utime(path, (time.time() - age,) * 2)
    self.store()
    self.assertCountEqual(os.listdir(self.folder), [_KEYS[0], "making_new"])

  def test_clear(self):
    self.store()
    (self.folder / "not_ours").mkdir()
    self.cache.clear()
    self.assertEqual(os.listdir(self.folder), ["not_ours"])

  def test_size(self):
    self.store(content=bytes(1000))
    [entry] = self.cache.entries()
    self.assertEqual(entry.bytes, 1000 + len("text") + 64)

  def test_folder_that_cannot_be_written(self):
    path = self.store()
    refuse = mock.Mock(side_effect=PermissionError)
    with mock.patch.object(os, "utime", refuse):
      self.assertEqual(self.found(), str(path))
    refuse.assert_called_once()

  def test_size_that_is_none(self):
    os.environ[cache.VARIABLE] = "1.5"
    with self.assertRaisesRegex(ValueError, "CACHE_MB is '1.5', not a number"):
      cache.most_mb()


if __name__ == "__main__":
  absltest.main()
