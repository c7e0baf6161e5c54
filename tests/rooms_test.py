# SPDX-License-Identifier: Apache-2.0
"""The rooms of the C++: what they include, how large they are, their names.

The build enforces most of it: a room sees headers of its dependencies alone,
and xla_ffi_ops/private/rooms.bzl says which those can be. But a room also sees
headers that a dependency includes, and ops see all.
"""

import ast
import collections
import graphlib
import pathlib
import re

from absl.testing import absltest

_HOME = pathlib.Path(__file__).parent.parent / "xla_ffi_ops"
_CPP = {".h", ".cc", ".cu", ".cuh"}
_INCLUDE = re.compile(r'^#include "xla_ffi_ops/([^"]+)"', re.MULTILINE)
_MOST_FILES = 20  # in a folder


def _rooms():
  """The table of rooms.bzl: what each room may include."""
  for node in ast.parse((_HOME / "private/rooms.bzl").read_text()).body:
    if isinstance(node, ast.Assign) and node.targets[0].id == "ROOMS":
      return ast.literal_eval(node.value)
  raise ValueError("rooms.bzl has no ROOMS")


def _sources():
  """{path below xla_ffi_ops: text}."""
  return {
      path.relative_to(_HOME): path.read_text("utf-8")
      for path in sorted(_HOME.rglob("*"))
      if path.suffix in _CPP
  }


def _wrong_includes(rooms, path, text):
  """The included files that `path` may not include."""
  room = path.parts[0]
  wrong = []
  for included in _INCLUDE.findall(text):
    other = included.split("/")[0]
    if room == "ops":  # ffi.h is for handlers alone.
      right = other in rooms or other == "ops" or path.stem.endswith("_ffi")
    else:
      right = other == room or other in rooms[room]
    if not right:
      wrong.append(included)
  return wrong


class RoomsTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.rooms = _rooms()
    self.sources = _sources()

  def test_all_rooms_are_here(self):
    found = {path.parts[0] for path in self.sources} - {"ffi.h"}
    self.assertEqual(found, {*self.rooms, "ops"})

  def test_includes(self):
    for path, text in self.sources.items():
      if str(path) != "ffi.h":
        with self.subTest(str(path)):
          self.assertEmpty(_wrong_includes(self.rooms, path, text))

  def test_wrong_includes_are_found(self):
    def wrong(path, included):
      text = f'#include <vector>\n\n#include "xla_ffi_ops/{included}"\n'
      return _wrong_includes(self.rooms, pathlib.PurePath(path), text)

    self.assertEqual(wrong("vec/a.h", "rows/b.h"), ["rows/b.h"])
    self.assertEqual(wrong("vec/a.h", "ffi.h"), ["ffi.h"])
    self.assertEqual(wrong("rows/cpu/a.h", "scans/b.h"), ["scans/b.h"])
    self.assertEqual(wrong("ops/a/a.cc", "ffi.h"), ["ffi.h"])
    self.assertEmpty(wrong("rows/cpu/a.h", "rows/b.h"))
    self.assertEmpty(wrong("ops/a/a_ffi.cc", "ffi.h"))

  def test_folders_are_in_no_circle(self):
    graph = collections.defaultdict(set)
    for path, text in self.sources.items():
      for included in map(pathlib.PurePath, _INCLUDE.findall(text)):
        if included.parent != path.parent:
          graph[path.parent].add(included.parent)
    graph.pop(pathlib.PurePath("."))
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError

  def test_folders_are_small(self):
    files = collections.Counter(path.parent for path in self.sources)
    for folder, count in files.items():
      self.assertLessEqual(count, _MOST_FILES, folder)

  def test_rooms_are_small(self):
    lines = collections.Counter()
    for path, text in self.sources.items():
      lines[path.parts[0]] += text.count("\n")
    for room, count in lines.items():
      self.assertLessEqual(count, lines.total() / 4, room)

  def test_names(self):
    """A name says which file is meant; .h and .cc of one name are together."""
    folders = collections.defaultdict(set)
    for path in self.sources:
      folders[path.stem].add(path.parent)
    for name, places in folders.items():
      self.assertLen(places, 1, name)


if __name__ == "__main__":
  absltest.main()
