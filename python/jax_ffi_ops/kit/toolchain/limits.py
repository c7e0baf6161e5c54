# SPDX-License-Identifier: Apache-2.0
"""Runs a compiler within limits of time and memory."""

from collections.abc import Mapping, Sequence
import contextlib
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import threading
from typing import NamedTuple

_MOST_OUTPUT = 1 << 16  # Templates make g++ print megabytes.


class Limits(NamedTuple):
  """What a compiler may take.

  Attributes:
    seconds: of the clock, and of each of its processes' CPU time.
    megabytes: of memory, for each of its processes.
  """

  seconds: int
  megabytes: int


class Ended(NamedTuple):
  """How a process ended.

  Attributes:
    status: its exit status, or minus the signal that ended it.
    output: what it printed.
    late: whether it was ended because it took too long.
  """

  status: int
  output: str
  late: bool


def run(
    command: Sequence[str],
    limits: Limits,
    folder: str,
    variables: Mapping[str, str] | None = None,
) -> Ended:
  """Runs a program, without a shell, and waits for it.

  It and its children are one process group, which is ended with the program,
  and when the caller is interrupted.

  Args:
    command: the program's path, and its arguments.
    limits: see `Limits`.
    folder: where it runs, and where its temporary files are.
    variables: of its environment, besides this process's.

  Raises:
    OSError: it cannot be started.
  """
  environment = os.environ | {"LC_ALL": "C", "TMPDIR": folder}
  environment.pop("LD_PRELOAD", None)  # It is meant for Python.
  environment.update(variables or {})
  late = threading.Event()
  with tempfile.TemporaryFile(dir=folder) as output:
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        process_group=0,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    timer = threading.Timer(limits.seconds, _end, (process, late))
    try:
      _limit(process.pid, limits)
      timer.start()
      status = process.wait()
    finally:  # Also of KeyboardInterrupt.
      timer.cancel()
      _kill(process)
      process.wait()
    output.seek(0)
    text = output.read(_MOST_OUTPUT).decode(errors="replace")
  return Ended(status, text, late.is_set())


def _end(process, late):
  late.set()
  _kill(process)


def _kill(process):
  # Its children may be alive when it is not.
  with contextlib.suppress(ProcessLookupError, PermissionError):
    os.killpg(process.pid, signal.SIGKILL)


def _limit(pid, limits):
  """Limits a process that has just been started, and the children it has.

  Code between fork and exec could do it, but it is not safe with threads.
  Children that come later inherit the limits.
  """
  data = limits.megabytes << 20
  # This process may itself be limited, to less.
  for kind, most in (
      (resource.RLIMIT_DATA, data),
      (resource.RLIMIT_CPU, limits.seconds),
  ):
    with contextlib.suppress(OSError, ValueError):
      _, hard = resource.prlimit(pid, kind)
      if hard == resource.RLIM_INFINITY or hard > most:
        resource.prlimit(pid, kind, (most, most))
  with contextlib.suppress(OSError):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    for child in children.read_text("ascii").split():
      _limit(int(child), limits)
