# SPDX-License-Identifier: Apache-2.0
"""Runs a function in another process, which may crash or never return."""

from collections.abc import Callable, Iterable, Iterator, Mapping
import contextlib
import ctypes
import itertools
import json
import os
import select
import signal
import subprocess
import sys
from typing import Any

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl
# Importing jax takes a second, and more on a busy machine.
_START_SECONDS = 300


class Ended(Exception):
  """The process has ended too early; the message says how."""


def messages(
    module: str,
    function: str,
    *arguments: Any,
    seconds: float,
    variables: Mapping[str, str] = {},
) -> Iterator[Any]:
  """Yields what a function yields in another process, as soon as it does.

  Args:
    module: calls `tell` when it is run.
    function: one that it gives to `tell`.
    *arguments: for the function; they and the messages are values of JSON.
    seconds: how long the process may take from one message to the next.
    variables: of its environment, besides those of this process.

  Raises:
    Ended: the process has crashed, ended itself, or taken too long.
  """
  reader, writer = os.pipe()
  command = [sys.executable, "-m", module, str(writer), function]
  process = subprocess.Popen(
      command + [json.dumps(argument) for argument in arguments],
      env=os.environ
      | {"PYTHONPATH": os.pathsep.join(sys.path)}
      | dict(variables),
      pass_fds=[writer],
      stdin=subprocess.DEVNULL,
      stdout=subprocess.DEVNULL,
      stderr=subprocess.DEVNULL,
      start_new_session=True,
  )
  os.close(writer)
  try:
    lines = _read(reader, seconds)
    next(lines, None)
    for message in lines:
      if message is None:
        return
      yield message
    status = process.wait(seconds)
  except (TimeoutError, subprocess.TimeoutExpired):
    raise Ended(f"did not return within {seconds:g} s") from None
  finally:
    os.close(reader)
    # With all that it has started itself.
    with contextlib.suppress(ProcessLookupError):
      os.killpg(process.pid, signal.SIGKILL)
    process.wait()
  names = {-number: number.name for number in signal.Signals}
  raise Ended(f"ended the process by {names.get(status, f'exit({status})')}")


def tell(*functions: Callable[..., Iterable[Any]]) -> None:
  """Is what a module does that `messages` runs."""
  descriptor, name, *arguments = sys.argv[1:]
  (function,) = (f for f in functions if f.__name__ == name)
  # Without the process that waits for it, this one ends, too.
  ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
  values = function(*map(json.loads, arguments))
  with open(int(descriptor), "w", encoding="utf-8") as file:
    for message in itertools.chain(["it has begun"], values, [None]):
      print(json.dumps(message), file=file, flush=True)
  os._exit(0)  # Nobody asks how foreign objects behave at the end.


def _read(reader, seconds):
  limit, rest = _START_SECONDS, b""
  while select.select([reader], [], [], limit)[0]:
    if not (got := os.read(reader, 1 << 16)):
      return
    *lines, rest = (rest + got).split(b"\n")
    yield from map(json.loads, lines)
    limit = seconds
  raise TimeoutError
