# SPDX-License-Identifier: Apache-2.0
"""docs/life_of_a_call.md: a call takes the way that the page says."""

import os
import pathlib
import re
import sys

from absl.testing import absltest
import jax
import numpy as np

from jax_ffi_ops import rms_norm

_ROOT = pathlib.Path(__file__).parent.parent
_PAGE = _ROOT / "docs/life_of_a_call.md"
_INCLUDE = re.compile(r'^#include "(xla_ffi_ops/[^"]+)"', re.MULTILINE)


def _files(text):
  """Returns the files of the repository that a part of the page names."""
  return re.findall(r"\]\(\.\./((?:python|xla_ffi_ops)/[^)]+)\)", text)


def _steps():
  """Returns the first file of each numbered step."""
  found = re.findall(r"(?ms)^\d+\. (.*?)(?=^\d+\. |^#|\Z)", _PAGE.read_text())
  return [_files(step)[0] for step in found]


def _called():
  """Returns the files of the package in which functions are called, in order."""
  files = []

  def profile(frame, event, argument):
    del argument
    path, mark, name = frame.f_code.co_filename.rpartition("jax_ffi_ops/")
    if event == "call" and mark and path.endswith("python/"):
      files.append(f"python/jax_ffi_ops/{name}")

  x, scale = np.ones((1024, 1024), np.float32), np.ones(1024, np.float32)
  jax.jit(rms_norm).lower(x, scale)  # Loads modules.
  jax.clear_caches()
  sys.setprofile(profile)
  try:
    jax.jit(rms_norm).lower(x, scale)
  finally:
    sys.setprofile(None)
  return files


def _included(*sources):
  """Returns the headers that sources include, directly or not."""
  found, waiting = set(), list(sources)
  while waiting:
    path = waiting.pop()
    if path not in found and (_ROOT / path).exists():
      found.add(path)
      waiting += _INCLUDE.findall((_ROOT / path).read_text())
  return found


class LifeOfACallTest(absltest.TestCase):

  def test_files_are_there(self):
    named = _files(_PAGE.read_text())
    self.assertGreater(len(named), 25)
    self.assertEmpty([x for x in named if not os.path.exists(_ROOT / x)])

  def test_python(self):
    """The files of the steps are a subsequence of those of the call."""
    called = iter(_called())
    steps = [x for x in _steps() if x.startswith("python/")]
    self.assertGreater(len(steps), 10)
    self.assertEmpty([x for x in steps if x not in called])

  def test_cpp(self):
    """The handler and the kernels include all other files of the steps."""
    sources = [x for x in _steps() if x.endswith(".cc")]
    steps = {x for x in _steps() if x.endswith(".h")}
    self.assertGreater(len(steps), 8)
    self.assertLen(sources, 2)
    self.assertEmpty(steps - _included(*sources))


if __name__ == "__main__":
  absltest.main()
