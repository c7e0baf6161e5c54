# SPDX-License-Identifier: Apache-2.0
"""What was unpacked once is linked, as long as some repository has it."""

import os
import pathlib

from absl.testing import absltest
import store

_LINE = "some==1.0 --hash=sha256:00"


class StoreTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)

  def _store(self, program="program"):
    path = self._folder / "program.py"
    path.write_text(program)
    return store.Store(self._folder / "store", path)

  def _fill(self, shelf, line=_LINE):
    with shelf.new(line) as folder:
      (folder / "a/b").mkdir(parents=True)
      (folder / "a/b/module.py").write_text(line)
      (folder / "top.py").write_text(line)

  def test_linked(self):
    shelf = self._store()
    self.assertFalse(shelf.path(_LINE).exists())
    self._fill(shelf)
    found = store.link(shelf.path(_LINE), self._folder / "repository")
    self.assertEqual(found, ["a/b/module.py", "top.py"])
    for file in found:
      copy = self._folder / "repository" / file
      self.assertEqual(copy.read_text(), _LINE)
      self.assertTrue(os.path.samefile(copy, shelf.path(_LINE) / file))

  def test_first_of_two_with_one_file(self):
    shelf = self._store()
    for line in (_LINE, "other==2.0"):
      self._fill(shelf, line)
      found = store.link(shelf.path(line), self._folder / "repository")
      self.assertLen(found, 2)
    self.assertEqual((self._folder / "repository/top.py").read_text(), _LINE)

  def test_other_line_other_folder(self):
    shelf = self._store()
    self._fill(shelf)
    self.assertFalse(shelf.path(_LINE + "1").exists())
    self.assertTrue(self._store().path(_LINE).exists())
    # Another program may unpack otherwise.
    self.assertFalse(self._store("another").path(_LINE).exists())

  def test_cut_off(self):
    shelf = self._store()
    with self.assertRaises(KeyboardInterrupt), shelf.new(_LINE):
      raise KeyboardInterrupt
    self.assertFalse(shelf.path(_LINE).exists())
    with shelf.in_use():
      pass
    self._fill(shelf)
    self.assertTrue(shelf.path(_LINE).exists())

  def test_two_at_once(self):
    shelf = self._store()
    with shelf.new(_LINE) as folder:
      (folder / "first.py").write_text("")
      partial = folder
      # As another process does, whose folder has another number.
      partial.rename(shelf.path(_LINE))
      partial.mkdir()
      (partial / "second.py").write_text("")
    self.assertTrue((shelf.path(_LINE) / "first.py").exists())
    self.assertFalse(partial.exists())

  def test_unused_goes(self):
    shelf = self._store()
    for line in (_LINE, "other==2.0"):
      self._fill(shelf, line)
    store.link(shelf.path(_LINE), self._folder / "repository")
    with shelf.in_use(), shelf.in_use():  # The first one to end is not alone.
      pass
    self.assertTrue(shelf.path(_LINE).exists())
    self.assertFalse(shelf.path("other==2.0").exists())

  def test_used_by_others_stays(self):
    shelf = self._store()
    self._fill(shelf)
    other = shelf.in_use()
    with other:
      with shelf.in_use():
        pass
      self.assertTrue(shelf.path(_LINE).exists())


if __name__ == "__main__":
  absltest.main()
