# SPDX-License-Identifier: Apache-2.0
"""The ops' CPU handlers, with direct calls that are drawn at random.

A draw is a right call, and 19 others that differ from it in one to three
things. A handler gives what the definition says, or refuses the call by its
name. It writes to the results alone and touches nothing else: another process
makes the calls, and the first forbidden access ends it. A failure names the
draw. This repeats and prints it, and has others for up to a minute per op:

  FUZZ_SEED=0 FUZZ_CALLS=17:18 ./bazelw test //tests/fuzz:handlers_test
  FUZZ_SEED=1 FUZZ_CALLS=0:50000 FUZZ_SECONDS=60 ./bazelw test ...
"""

import os
import signal
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import handler_fuzzer

import jax_ffi_ops
import python_process

_SEED = os.environ.get("FUZZ_SEED", "0")
_CALLS = os.environ.get("FUZZ_CALLS", "0:60")  # Of each op.
_SECONDS = os.environ.get("FUZZ_SECONDS", "inf")
_OPS = tuple(jax_ffi_ops._ops())


class HandlersTest(parameterized.TestCase):

  # A process for half of the ops: to start one for each takes longer.
  @parameterized.parameters((_OPS[::2],), (_OPS[1::2],))
  def test_handlers(self, names):
    with tempfile.NamedTemporaryFile() as report:
      process = python_process.run(
          handler_fuzzer.__file__,
          ",".join(names),
          _SEED,
          *_CALLS.split(":"),
          _SECONDS,
          report.name,
          JAX_PLATFORMS="cpu",
      )
      name, index = (report.read().decode() or "no op -1").rsplit(maxsplit=1)
    if process.returncode:
      self.fail(
          f"{name}: {_how(process.returncode)} in a draw. To repeat it:"
          f" FUZZ_SEED={_SEED} FUZZ_CALLS={index}:{int(index) + 1}\n"
          f"{process.stderr[-8000:]}"
      )


def _how(code):
  return signal.Signals(-code).name if code < 0 else f"exit status {code}"


if __name__ == "__main__":
  absltest.main()
