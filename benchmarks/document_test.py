# SPDX-License-Identifier: Apache-2.0
"""What is written of measured lines: JSON, tables and pictures."""

import json
import math
import pathlib
import re
from xml.etree import ElementTree

from absl.testing import absltest
from absl.testing import parameterized

import chart
import document
import pictures
import tables

_SVG = "{http://www.w3.org/2000/svg}"


def _line(**changes):
  return {
      "op": "softmax",
      "size": "16x4",
      "dtype": "float32",
      "pass": "forward",
      "timing": "call",
      "level": 4,
      "threads": 2,
      "heap": "clean",
      "bytes": 2**22,
      "seconds": 1e-3,
      "bandwidth": 8e9,
      "share": 0.625,
      "stream": "copy",
      "peers": {"jax.numpy": 3.0, "jax.numpy, dot": 2.0, "torch": 1.5},
      "quartiles": {"ours": [9e-4, 1e-3, 1.1e-3]},
      "ulps": {"ours": 1.25, "jax.numpy": 2.5},
      **changes,
  }


def _document(*lines):
  return {
      "date": "2001-02-03",
      "machine": {"processor": "a processor", "cores": 2},
      "versions": {"jax": "1.2.3", "torch": "4"},
      "lines": list(lines),
  }


_TWO_LEVELS = _document(
    _line(),
    _line(level=3, share=0.5, peers={"jax.numpy": 4.0}),
    _line(size="8x4", bytes=2**20, timing="program", peers={"jax.numpy": 8.0}),
    _line(threads=1, peers={"jax.numpy": 77.0}),
    _line(heap="default", peers={"jax.numpy": 88.0}),
)


class DocumentTest(parameterized.TestCase):

  def test_json(self):
    text = document.as_json(_document(_line(seconds=1.23456e-5), _line()))
    read = json.loads(text)
    self.assertEqual(read, _document(_line(seconds=1.235e-5), _line()))
    self.assertEqual(text.count('"softmax"'), 2)
    self.assertLen([x for x in text.splitlines() if "softmax" in x], 2)

  def test_best(self):
    self.assertEqual(document.best(_line()), 1.5)
    self.assertEqual(document.best(_line(), "jax.numpy"), 2)
    self.assertTrue(math.isnan(document.best(_line(), "numpy")))

  def test_results(self):
    """Regions are replaced, with the largest size at both levels."""
    old = """above
<!-- benchmarks: picture -->
<!-- /benchmarks -->
between
<!-- benchmarks: table -->
old
<!-- /benchmarks -->
below
"""
    new = tables.results(_TWO_LEVELS, old)
    self.assertRegex(
        new,
        r"(?s)\Aabove\n.*\(benchmarks/cpu_speed.svg\)\n.*between\n.*below\n\Z",
    )
    self.assertNotIn("old", new)
    self.assertIn(
        "| op | size | dtype | AVX-512: forward | backward | both"
        " | AVX2: forward | backward | both |\n",
        new,
    )
    self.assertIn(
        "| `softmax` | 16x4 | float32 | 2.0× (1.5×) |  |  | 4.0× (4.0×) |  |  |\n",
        new,
    )
    self.assertEqual(new.count("`softmax`"), 1)
    text = " ".join(new.split())
    self.assertIn(
        "2001-02-03, 2 cores of a processor; jax 1.2.3, torch 4", text
    )
    self.assertIn("reach 50% to 62% of", text)
    self.assertEqual(tables.results(_TWO_LEVELS, new), new)

  def test_page(self):
    page = tables.page(_TWO_LEVELS)
    self.assertEqual(
        re.findall("(?m)^## (.*)$", page),
        [
            "AVX-512, 2 threads, clean heap",
            "AVX-512, 2 threads, default heap",
            "AVX-512, 1 thread, clean heap",
            "AVX2, 2 threads, clean heap",
        ],
    )
    self.assertIn(
        "| softmax | 16x4 | float32 | forward | call | 1000 | 10% | 8.0"
        " | 62% of copy | 2.0× | 1.5× | 1.2 | 2.5 |  |\n",
        page,
    )

  def test_pictures(self):
    """Of calls within a program up to 1 MiB, and of single calls above it."""
    speed, share = pictures.draw(_TWO_LEVELS).values()
    for text in speed, share:
      self.assertIn("prefers-color-scheme: dark", text)
      self.assertIn("2001-02-03, 2 cores of a processor", text)
    found = ElementTree.fromstring(speed)
    texts = [x.text for x in found.iter(_SVG + "text")]
    self.assertIn("softmax, float32", texts)
    self.assertIn("8×", texts)
    self.assertLess({"forward, AVX-512", "both, AVX2"}, set(texts))
    _, line = (  # The first one is in the legend.
        [tuple(map(float, each.split(","))) for each in x.get("points").split()]
        for x in found.iter(_SVG + "polyline")
        if x.get("class") == "line line0"
    )
    (left, eightfold), (right, twice) = line
    self.assertLess(left, right)
    self.assertLess(eightfold, twice)  # From above.

  def test_what_is_there(self):
    """Nobody has changed it by hand; `report -- --render` writes it anew."""
    root = pathlib.Path(__file__).parent.parent
    saved = root / "docs/benchmarks/cpu.json"
    page = (root / pictures.PAGE).read_text("utf-8")
    made = pictures.files(json.loads(saved.read_text("utf-8")), page)
    for name, text in made.items():
      self.assertEqual((root / name).read_text("utf-8"), text, name)

  def test_places(self):
    """Of values on an axis."""
    axis = chart.Axis(1, 16, [1, 4, 16], str)
    self.assertEqual([axis.place(x) for x in (0.5, 1, 4, 16)], [0, 0, 0.5, 1])


if __name__ == "__main__":
  absltest.main()
