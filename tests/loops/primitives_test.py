# SPDX-License-Identifier: Apache-2.0
"""The table of primitives is that of docs/loops.md, and most are tested."""

import pathlib

from absl.testing import absltest
import primitives

# Of other versions of jax, or written by rules of other primitives.
_NOT_ALONE = 25


class PrimitivesTest(absltest.TestCase):

  def test_table(self):
    text = pathlib.Path("docs/loops.md").read_text()
    between = text.split("<!-- primitives -->\n")[1]
    self.assertEqual(
        between.split("<!-- /primitives -->")[0].strip(),
        primitives.table(),
        "run //tests/loops:primitives, and put what it prints there",
    )

  def test_most_are_tested(self):
    untested = set(primitives.emitted.names()) - primitives.tested()
    self.assertLess(len(untested), _NOT_ALONE)


if __name__ == "__main__":
  absltest.main()
