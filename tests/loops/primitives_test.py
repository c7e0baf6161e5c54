# SPDX-License-Identifier: Apache-2.0
"""The table of primitives is that of docs/loops.md, and most are tested."""

import pathlib

from absl.testing import absltest
from jax import lax
import primitives

# Of jax 0.10.2, but not of the oldest jax that is supported.
_NEW = ("mulhi", "stack", "stage")
# Of other versions of jax, or written by rules of other primitives.
_NOT_ALONE = 25


def _of_this_jax(table):
  for name in _NEW:
    if not hasattr(lax, f"{name}_p"):
      table = table.replace(f"`{name}`, ", "")
  return table


class PrimitivesTest(absltest.TestCase):

  def test_table(self):
    text = pathlib.Path("docs/loops.md").read_text()
    between = text.split("<!-- primitives -->\n")[1]
    self.assertEqual(
        _of_this_jax(between.split("<!-- /primitives -->")[0].strip()),
        _of_this_jax(primitives.table()),
        "run //tests/loops:primitives, and put what it prints there",
    )

  def test_most_are_tested(self):
    untested = set(primitives.emitted.names()) - primitives.tested()
    self.assertLess(len(untested), _NOT_ALONE)


if __name__ == "__main__":
  absltest.main()
