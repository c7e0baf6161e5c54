# SPDX-License-Identifier: Apache-2.0
"""The table of primitives is that of docs/loops.md, and most are tested."""

import pathlib
import re

from absl.testing import absltest
import primitives

# Not in every version of jax that is supported; or tested only with the newest.
_VARY = {
    "call_hi_primitive",
    "dce_sink",
    "log2",
    "mulhi",
    "one_minus_square",
    "ormqr",
    "polynomial",
    "stack",
    "stage",
    "unstack",
}
# Written by rules of other primitives.
_NOT_ALONE = 19


def _rows(table):
  """Returns the title of each row, and its primitives that do not vary."""
  lines = (line.split("|") for line in table.splitlines())
  return {
      title.strip(): set(re.findall("`(.+?)`", names)) - _VARY
      for _, title, names, _ in lines
  }


class PrimitivesTest(absltest.TestCase):

  def test_table(self):
    text = pathlib.Path("docs/loops.md").read_text()
    between = text.split("<!-- primitives -->\n")[1]
    self.assertEqual(
        _rows(between.split("<!-- /primitives -->")[0].strip()),
        _rows(primitives.table()),
        "run //tests/loops:primitives, and put what it prints there",
    )

  def test_most_are_tested(self):
    untested = set(primitives.compiled.names()) - primitives.tested() - _VARY
    self.assertLessEqual(len(untested), _NOT_ALONE, untested)


if __name__ == "__main__":
  absltest.main()
