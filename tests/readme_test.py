# SPDX-License-Identifier: Apache-2.0
"""Runs Python of documents: each block prints what the text block after it shows.

Blocks of a document run in order and share their names. .ci/readme.py looks at
the others: a file, with its name above it, and a quotation, below a link.
"""

import contextlib
import io
import pathlib
import re

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

_ROOT = pathlib.Path(__file__).parent.parent
_BLOCK = re.compile(
    r"(?P<above>^(?:`[^`\n]+`|[^\n]*\]\([^)\n]+\)):\n\n)?"
    r"^```python\n(?P<program>.*?)^```\n"
    r"(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)


def _blocks(document):
  text = (_ROOT / document).read_text("utf-8")
  return [block for block in _BLOCK.finditer(text) if not block["above"]]


_DOCUMENTS = ["README.md"]
_DOCUMENTS += sorted(f"docs/{x.name}" for x in (_ROOT / "docs").glob("*.md"))
_WITH_BLOCKS = list(filter(_blocks, _DOCUMENTS))


class ReadmeTest(parameterized.TestCase):

  def test_documents_with_blocks(self):
    few = {f"docs/{x}.md" for x in ("performance", "quickstart", "scans")}
    self.assertContainsSubset({"README.md", *few}, _WITH_BLOCKS)

  @parameterized.parameters(*_WITH_BLOCKS)
  def test_blocks(self, document):
    # What a block sets for printing is not for other tests.
    self.enter_context(np.printoptions())
    names = {}
    for block in _blocks(document):
      with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(block["program"], names)
      with self.subTest(block["program"]):
        self.assertEqual(output.getvalue(), block["output"] or "")


if __name__ == "__main__":
  absltest.main()
