# SPDX-License-Identifier: Apache-2.0
"""Machine code as planned, and the kinds of kernels that the checks are for."""

import os
import re

from absl.testing import absltest
import sass

# What each kernel of broken.cu is found to do.
_BROKEN = {
    "IndexesLocally": [r"\d+ bytes of stack", r"\d+ accesses to local memory"],
    "LoadsScalars": ["no 128-bit load in a hot loop"],
    "LoopsOverScalars": [
        "no 128-bit load in a hot loop",
        "no 128-bit store in a hot loop",
    ],
    "NumbersBarriers": [r"\d+ barriers by a number in a register"],
    "Sound": [],
    "Spills": [r"\d+ bytes of stack", r"\d+ accesses to local memory"],
    "StoresScalars": ["no 128-bit store in a hot loop"],
}


class SassTest(absltest.TestCase):

  def test_twice(self):
    plans = {
        r"void .*::TwiceKernel<float4>\(": sass.Plan(registers=32),
        r"void .*::TwiceKernel<float>\(": sass.Plan(
            registers=32, vector_loads=False, vector_stores=False
        ),
    }
    found = sass.violations(os.environ["TWICE"], plans)
    self.assertEmpty(found)

  def test_architectures(self):
    self.assertCountEqual(
        os.environ["ARCHITECTURES"].split(),
        sass.architectures(os.environ["TWICE"]),
    )

  def test_missing_and_unplanned(self):
    plans = {"Other": sass.Plan(registers=32)}
    found = sass.violations(os.environ["TWICE"], plans)
    count = len(sass.ARCHITECTURES)
    self.assertLen(found, 3 * count)
    for line in found[: 2 * count]:
      self.assertRegex(line, r"TwiceKernel<.* on sm_\d+\w?: 0 plans$")
    for line in found[2 * count :]:
      self.assertRegex(line, r"^Other on sm_\d+\w?: no kernel$")

  def test_broken(self):
    kernels = sass.kernels(os.environ["BROKEN"])
    self.assertLen(kernels, len(_BROKEN) * len(sass.ARCHITECTURES))
    for name, architecture, kernel in kernels:
      found = sass.Plan(registers=128).violations(kernel)
      expected = _BROKEN[re.match(r"xla_ffi_ops::(\w+)\(", name)[1]]
      with self.subTest(name, architecture=architecture):
        self.assertLen(found, len(expected), found)
        for line, pattern in zip(found, expected):
          self.assertRegex(line, f"^{pattern}$")

  def test_nothing_read(self):
    self.assertLen(sass.Plan(32, False, False).violations(sass.Kernel()), 1)

  def test_registers(self):
    for _, _, kernel in sass.kernels(os.environ["BROKEN"]):
      self.assertGreater(kernel.registers, 8)
      self.assertIn(
          f"{kernel.registers} registers, not 8",
          sass.Plan(registers=8).violations(kernel),
      )

  def test_loops(self):
    plan = sass.Plan(128, vector_loads=False, vector_stores=False, loop=1)
    for name, _, kernel in sass.kernels(os.environ["BROKEN"]):
      if "Loops" in name:
        self.assertBetween(kernel.longest_loop(), 5, 100)
        found = plan.violations(kernel)
        self.assertEqual(
            found, [f"{kernel.longest_loop()} instructions in a loop"]
        )
    unrolled = sass.Kernel(8, 0, [(0, "MOV", ""), (16, "EXIT", "")])
    self.assertEqual(unrolled.longest_loop(), 0)


if __name__ == "__main__":
  absltest.main()
