# SPDX-License-Identifier: Apache-2.0
"""What the doctor tells of compilers and of the cache."""

import os
import sys
from unittest import mock

from absl.testing import absltest
import testing

from jax_ffi_ops.doctor import command
from jax_ffi_ops.doctor import compiling
from jax_ffi_ops.kit import toolchain
from jax_ffi_ops.kit.toolchain import cache
from jax_ffi_ops.kit.toolchain import compilers


class DoctorTest(testing.ToolchainTest):

  def lines(self):
    lines = list(compiling.lines())
    # Most people need neither a compiler nor a cache: nothing is wrong.
    self.assertEqual({state for _, state in lines}, {None})
    return [line for line, _ in lines]

  def test_compiler_and_cache(self):
    path = self.script("made()")
    os.environ[cache.VARIABLE] = "70"
    toolchain.shared_object("a" * (1 << 20))
    toolchain.shared_object("b")
    self.assertEqual(
        self.lines(),
        [
            f"C++ compiler: fake++ 1.0 ({path})",
            f"Compiled at run time: 2 objects, 1.0 MB, in {self.folder};"
            " at most 70 MB",
        ],
    )

  def test_neither(self):
    os.environ[compilers.VARIABLE] = "/no/such"
    self.folder.mkdir()
    self.folder.chmod(0o777)
    first, second = self.lines()
    self.assertIn("/no/such (not found)", first)
    self.assertIn("is not kept: ", second)

  def test_clear(self):
    self.script("made()")
    toolchain.shared_object("a")
    with mock.patch.object(sys, "argv", ["doctor", "--clear-cache"]):
      with mock.patch("builtins.print") as printed:
        self.assertEqual(command.main(), 0)
    [line] = printed.call_args.args
    self.assertRegex(line, f"Removed: 1 objects, .* in {self.folder}$")
    self.assertEmpty(os.listdir(self.folder))


if __name__ == "__main__":
  absltest.main()
