# SPDX-License-Identifier: Apache-2.0
"""Sanitizers find the bugs that are planted for them.

Their configurations (--config=asan, ubsan, tsan) set SANITIZER. Without one,
only the handlers themselves are tested, with the bugs switched off.
"""

import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import handlers

import python_process

# For each sanitizer the handler with its bug, and its report.
_BUGS = {
    "address": (
        "planted_heap_overflow",
        "ERROR: AddressSanitizer: heap-buffer-overflow",
    ),
    "undefined": (
        "planted_signed_overflow",
        "runtime error: signed integer overflow: 0 - -2147483648",
    ),
    "thread": ("planted_data_race", "WARNING: ThreadSanitizer: data race"),
}
# A function of each sanitizer's runtime, which its instrumentation calls.
_RUNTIMES = {
    "address": "__asan_init",
    "undefined": "__ubsan_handle_add_overflow_abort",
    "thread": "__tsan_init",
}
_SANITIZER = os.environ.get("SANITIZER")


def _run(target, bug):
  script = pathlib.Path(__file__).with_name("planted_bug.py")
  return python_process.run(script, target, int(bug))


class PlantedBugsTest(parameterized.TestCase):

  def test_built_as_the_environment_says(self):
    library = handlers.load("sanitizers/planted_bugs_ext")
    sanitizers = [key for key in _RUNTIMES if hasattr(library, _RUNTIMES[key])]
    self.assertEqual(sanitizers, [_SANITIZER] if _SANITIZER else [])

  @parameterized.parameters(target for target, _ in _BUGS.values())
  def test_switched_off(self, target):
    process = _run(target, bug=False)
    self.assertEqual(process.returncode, 0, process.stderr)
    self.assertEqual(process.stdout.split(), ["1024"])
    for _, report in _BUGS.values():
      self.assertNotIn(report, process.stderr)

  @absltest.skipIf(_SANITIZER is None, "not built with a sanitizer")
  def test_found(self):
    target, report = _BUGS[_SANITIZER]
    process = _run(target, bug=True)
    self.assertNotEqual(process.returncode, 0)
    self.assertIn(report, process.stderr)
    self.assertIn("planted_bugs_ffi.cc", process.stderr)
    self.assertEmpty(process.stdout)


if __name__ == "__main__":
  absltest.main()
