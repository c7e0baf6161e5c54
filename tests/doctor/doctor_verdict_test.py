# SPDX-License-Identifier: Apache-2.0
"""Each thing that is wrong spoils the doctor's verdict by itself.

The other object that it looks at is well: nothing else can spoil it.
"""

import contextlib
import io
import pathlib
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from jax_ffi_ops.doctor import command

_HERE = pathlib.Path(__file__).parent
_HANDLER = _HERE.parent / "kit/cpp/handler"
_GOOD = _HANDLER / "libforeign_ext.so"
_ENDS = "this ended the process by"


class DoctorVerdictTest(parameterized.TestCase):

  @parameterized.parameters(
      ("libaborts_on_load.so", f"cannot be loaded: {_ENDS} SIGABRT"),
      ("libexits_on_load.so", f"cannot be loaded: {_ENDS} exit(0)"),
      ("libnot_there.so", "cannot be loaded: [Errno 2] No such file"),
      (
          "../kit/cpp/handler/libforeign_ext.so:abort",
          "a call ended the process by SIGABRT",
      ),
      ("../kit/cpp/handler/libforeign_ext.so:sched_yield", "is no FFI handler"),
  )
  def test_one_is_bad(self, bad, problem):
    arguments = [_GOOD, _HERE / bad]
    printed = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["doctor", *map(str, arguments)]),
        contextlib.redirect_stdout(printed),
    ):
      self.assertEqual(command.main(), 1, printed.getvalue())
    self.assertIn(problem, printed.getvalue())
    self.assertRegex(printed.getvalue(), "foreign_twice +cpu .* answers\n")
    self.assertEndsWith(
        printed.getvalue(), "\nSomething is wrong: see above.\n"
    )


if __name__ == "__main__":
  absltest.main()
