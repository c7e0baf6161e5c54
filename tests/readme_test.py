# SPDX-License-Identifier: Apache-2.0
"""Runs Python of documents: each block prints what the text block after it shows.

Blocks run in order and share their names. One that is a file of its own, with
the file's name above it, is left to .ci/readme.py.
"""

import contextlib
import io
import pathlib
import re

from absl.testing import absltest
import numpy as np

_ROOT = pathlib.Path(__file__).parent.parent
_BLOCK = re.compile(
    r"(?P<file>^`[^`\n]+`:\n\n)?"
    r"^```python\n(?P<program>.*?)^```\n"
    r"(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)


class ReadmeTest(absltest.TestCase):

  def test_readme(self):
    self._run_blocks("README.md")

  def test_scans(self):
    self._run_blocks("docs/scans.md")

  def _run_blocks(self, document):
    blocks = [
        block
        for block in _BLOCK.finditer((_ROOT / document).read_text("utf-8"))
        if not block["file"]
    ]
    self.assertNotEmpty(blocks)
    # What a block sets for printing is not for other tests.
    self.enter_context(np.printoptions())
    names = {}
    for block in blocks:
      with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(block["program"], names)
      with self.subTest(block["program"]):
        self.assertEqual(output.getvalue(), block["output"] or "")


if __name__ == "__main__":
  absltest.main()
