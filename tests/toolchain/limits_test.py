# SPDX-License-Identifier: Apache-2.0
"""What a program may take, and that nothing of it is left."""

import os
import signal
import sys
import threading
import time

from absl.testing import absltest
import testing

from jax_ffi_ops.kit.toolchain import limits

_LIMITS = limits.Limits(seconds=60, megabytes=1000)


class LimitsTest(testing.ToolchainTest):

  def run_python(self, text, within=_LIMITS):
    return limits.run([sys.executable, "-c", text], within, str(self.home))

  def assert_ends(self, pid):
    for _ in range(200):
      try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
          if file.read().rpartition(")")[2].split()[0] == "Z":
            return
      except (FileNotFoundError, ProcessLookupError):
        return
      time.sleep(0.05)
    self.fail(f"{pid} still runs")

  def test_status_and_output(self):
    ended = self.run_python("import sys; print('a'); sys.exit('b')")
    self.assertEqual(ended.status, 1)
    self.assertCountEqual(ended.output.split(), ["a", "b"])
    self.assertFalse(ended.late)

  def test_output_is_cut(self):
    ended = self.run_python("print('a' * 10_000_000)")
    self.assertLen(ended.output, 1 << 16)

  def test_no_input(self):
    ended = self.run_python("import sys; print(len(sys.stdin.read()))")
    self.assertEqual(ended.output.strip(), "0")

  def test_time(self):
    """Children end, too, also if they are not waited for."""
    ended = self.run_python(
        "import subprocess, time; print(subprocess.Popen(['sleep', '600']).pid,"
        " flush=True); time.sleep(600)",
        _LIMITS._replace(seconds=2),
    )
    self.assertTrue(ended.late)
    self.assertEqual(ended.status, -signal.SIGKILL)
    self.assert_ends(int(ended.output))

  def test_children_end_with_the_program(self):
    ended = self.run_python(
        "import subprocess; print(subprocess.Popen(['sleep', '600']).pid)"
    )
    self.assertFalse(ended.late)
    self.assert_ends(int(ended.output))

  def test_memory(self):
    text = "import time; time.sleep(.2); bytearray(1 << 30); print('large')"
    self.assertIn("MemoryError", self.run_python(text).output)
    more = _LIMITS._replace(megabytes=4000)
    self.assertEqual(self.run_python(text, more).output.strip(), "large")

  def test_memory_and_cpu_time_of_children(self):
    text = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import"
        " resource as r; print(r.getrlimit(r.RLIMIT_DATA)[0],"
        " r.getrlimit(r.RLIMIT_CPU)[0])'])"
    )
    found = self.run_python(text).output.split()
    self.assertEqual(found, [str(1000 << 20), "60"])

  def test_keyboard_interrupt(self):
    pid = self.home / "pid"
    program = f"import os, time; print(os.getpid(), file=open('{pid}', 'w'), flush=True); time.sleep(600)"

    def interrupt():
      while not (pid.exists() and pid.read_text()):
        time.sleep(0.01)
      os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with self.assertRaises(KeyboardInterrupt):
      self.run_python(program)
    thread.join()
    self.assert_ends(int(pid.read_text()))

  def test_own_process_group(self):
    """So that ctrl-C comes to Python alone, which ends the compiler."""
    ended = self.run_python("import os; print(os.getpgid(0))")
    self.assertNotEqual(int(ended.output), os.getpgid(0))

  def test_what_is_meant_for_python_is_not_for_the_compiler(self):
    os.environ["LD_PRELOAD"] = ""
    ended = self.run_python("import os; print('LD_PRELOAD' in os.environ)")
    self.assertEqual(ended.output.strip(), "False")


if __name__ == "__main__":
  absltest.main()
