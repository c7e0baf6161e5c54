# SPDX-License-Identifier: Apache-2.0
"""Other processes of Python, which can import what this one can."""

from collections.abc import Sequence
import os
import socket
import subprocess
import sys

from absl.testing import absltest


def start(*command: object, **variables: str) -> subprocess.Popen:
  """Starts Python with a command line and more environment variables."""
  return subprocess.Popen(
      [sys.executable, *map(str, command)],
      env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | variables,
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
  )


def run(
    *command: object, seconds: float | None = None, **variables: str
) -> subprocess.CompletedProcess:
  """Waits for the end of such a process; it may fail."""
  process = start(*command, **variables)
  try:
    told = process.communicate(timeout=seconds)
  finally:
    process.kill()
  return subprocess.CompletedProcess(command, process.returncode, *told)


def outputs(
    test: absltest.TestCase,
    processes: Sequence[subprocess.Popen],
    seconds: float,
) -> list[str]:
  """Returns what processes print; the test fails if one of them does."""
  for process in processes:
    test.addCleanup(process.kill)
  told = [process.communicate(timeout=seconds) for process in processes]
  for process, (_, errors) in zip(processes, told):
    test.assertEqual(process.returncode, 0, errors)
  return [output for output, _ in told]


def free_address() -> str:
  """Returns an address of this machine on which nobody listens."""
  with socket.create_server(("localhost", 0)) as server:
    return f"localhost:{server.getsockname()[1]}"
