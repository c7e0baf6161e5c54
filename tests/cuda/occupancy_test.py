# SPDX-License-Identifier: Apache-2.0
"""What a driver is asked about the kernels of a library, and what is printed."""

import contextlib
import io
import os
import pathlib
import sys
from unittest import mock

from absl.testing import absltest
import occupancy


def _run(*arguments):
  """Returns what occupancy.py prints."""
  printed = io.StringIO()
  with (
      mock.patch.object(sys, "argv", ["occupancy.py", *arguments]),
      contextlib.redirect_stdout(printed),
  ):
    occupancy.main()
  return printed.getvalue()


class OccupancyTest(absltest.TestCase):

  def test_report(self):
    driver = os.environ["DRIVER"]
    library = os.environ["TWICE"]
    # It has one source with kernels, and so one module.
    self.assertEqual(
        _run(f"--driver={driver}", library),
        f"{pathlib.Path(library).name}\n"
        "   54 registers, 0 local,  512 threads,  2 blocks, 66/33/16/0 clusters:"
        " RowKernel<Args<float> >\n"
        "  255 registers, 8 local,  512 threads,  2 blocks, 66/33/16/0 clusters:"
        " plain\n"
        "1 kernels have local memory\n",
    )

  def test_no_driver(self):
    with self.assertRaisesRegex(SystemExit, "^not run: .*no_driver.so"):
      _run("--driver=no_driver.so", os.environ["TWICE"])

  def test_images_are_whole(self):
    content = pathlib.Path(os.environ["TWICE"]).read_bytes()
    (image,) = occupancy.images(content)
    self.assertIn(b"TwiceKernel", image)


if __name__ == "__main__":
  absltest.main()
