# SPDX-License-Identifier: Apache-2.0
"""Runs the cells of notebooks: each prints what the notebook shows.

A cell with the tag `times` prints something else each time.
"""

import contextlib
import io
import json
import pathlib

from absl.testing import absltest
from absl.testing import parameterized

_NOTEBOOKS = sorted(
    (pathlib.Path(__file__).parent.parent / "docs").glob("*.ipynb")
)


class NotebookTest(parameterized.TestCase):

  def test_there_is_one(self):
    self.assertIn("compile.ipynb", [x.name for x in _NOTEBOOKS])

  @parameterized.named_parameters((x.stem, x) for x in _NOTEBOOKS)
  def test_cells(self, path):
    cells = json.loads(path.read_text("utf-8"))["cells"]
    names = {}
    for cell in cells:
      if cell["cell_type"] != "code":
        continue
      with contextlib.redirect_stdout(io.StringIO()) as output:
        exec("".join(cell["source"]), names)
      shown = "".join("".join(x["text"]) for x in cell["outputs"])
      if "times" not in cell["metadata"].get("tags", ()):
        with self.subTest("".join(cell["source"])):
          self.assertEqual(output.getvalue(), shown)


if __name__ == "__main__":
  absltest.main()
