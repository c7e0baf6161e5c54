# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of large results is true of other programs."""

import json
import os
import re
from unittest import mock

from absl.testing import absltest
import large_arrays

from jax_ffi_ops.doctor import fresh_pages
import python_process

_ADVICE = re.compile(
    r"A result of 64 MiB on the CPU takes (\d+) page faults and [\d.]+ ms"
    r"(?: with .*)?;"
    r" if you set (.+) before Python starts, it takes (\d+) and [\d.]+ ms"
)


def _faults(**variables):
  process = python_process.run(
      large_arrays.__file__, JAX_PLATFORMS="cpu", **variables
  )
  process.check_returncode()
  return json.loads(process.stdout)[1]


class FreshPagesTest(absltest.TestCase):

  def advice(self, **variables):
    """Returns faults, variables to set, and the fewer faults then."""
    with mock.patch.dict(os.environ, variables):
      told = fresh_pages.sentence(60)
    found = _ADVICE.fullmatch(told)
    if not found:
      self.assertRegex(
          told, r"A result of 64 MiB on the CPU takes \d+ page faults"
      )
      self.assertLess(max(_faults(**variables)), large_arrays.PAGES / 2)
      self.skipTest(f"No advice on this machine: {told}")
    setting = dict(word.split("=", 1) for word in found[2].split())
    return int(found[1]), setting, int(found[3])

  def check(self, **variables):
    """Follows the advice that is given under these variables."""
    many, setting, few = self.advice(**variables)
    _, *xlas = _faults(**variables)
    self.assertGreater(min(xlas), many / 2)
    self.assertLess(max(_faults(**setting)), min(2 * few + 100, many / 4))
    with mock.patch.dict(os.environ, setting):
      told = fresh_pages.sentence(60)
    # There is no further advice.
    line = " ".join(f"{name}={setting[name]}" for name in sorted(setting))
    self.assertEndsWith(told, f" ms with {line}")

  def test_advice(self):
    self.check(GLIBC_TUNABLES="")

  def test_where_huge_pages_do_not_help(self):
    """As with glibc up to 2.34, which does not know the tunable."""
    _, *others = fresh_pages._SETTINGS
    with mock.patch.object(fresh_pages, "_SETTINGS", others):
      self.check(GLIBC_TUNABLES="")

  def test_other_tunables_are_kept(self):
    measured = mock.Mock(side_effect=[(1e5, 9.0), (9.0, 1.0)])
    with mock.patch.object(fresh_pages, "_measured", measured):
      _, setting, _ = self.advice(GLIBC_TUNABLES="glibc.malloc.tcache_count=6")
    self.assertStartsWith(
        setting["GLIBC_TUNABLES"], "glibc.malloc.tcache_count=6:"
    )

  def test_process_that_ends(self):
    """Nothing can be measured: there is nothing to say."""
    with mock.patch.dict(os.environ, XLA_FLAGS="--no_such_flag"):
      self.assertEqual(fresh_pages.sentence(60), "")


if __name__ == "__main__":
  absltest.main()
