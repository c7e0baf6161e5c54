# SPDX-License-Identifier: Apache-2.0
"""Runs a function in another process, which may crash or never return."""

from collections.abc import Callable, Iterable, Iterator, Mapping
import contextlib
import ctypes
import functools
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
    questions: int = subprocess.DEVNULL,
) -> Iterator[Any]:
  """Yields what a function yields in another process, as soon as it does.

  Args:
    module: calls `tell` when it is run.
    function: one that it gives to `tell`.
    *arguments: for the function; they and the messages are values of JSON.
    seconds: how long the process may take from one message to the next.
    variables: of its environment, besides those of this process.
    questions: a descriptor, which the process has as its standard input.

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
      stdin=questions,
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


class Worker:
  """A process that answers questions, and does nothing between them.

  It starts with the first question. If it ends early, the next question starts
  another one.
  """

  def __init__(
      self,
      module: str,
      function: str,
      *,
      seconds: float,
      variables: Mapping[str, str] = {},
  ):
    """Prepares the process; the arguments are those of `messages`.

    Args:
      module: calls `tell`.
      function: takes the arguments of a question, and returns the answer.
      seconds: how long an answer may take.
      variables: of its environment, besides those of this process.
    """
    self._start = functools.partial(
        messages,
        module,
        function,
        seconds=seconds,
        variables=variables,
    )
    self._answers = None

  def ask(self, *arguments: Any) -> Any:
    """Returns the answer; raises what `messages` does."""
    if self._answers is None:
      self._pipe = os.pipe()
      self._answers = self._start(questions=self._pipe[0])
    try:
      os.write(self._pipe[1], json.dumps(arguments).encode() + b"\n")
      return next(self._answers)
    except Ended:
      self.close()
      raise

  def close(self) -> None:
    """Ends the process."""
    if self._answers is not None:
      self._answers.close()
      self._answers = None
      for descriptor in self._pipe:
        os.close(descriptor)


def answers(function: Callable[..., Any]) -> Callable[[], Iterator[Any]]:
  """Returns what to give to `tell`, for a function that a `Worker` asks."""

  @functools.wraps(function)
  def answer():
    for line in sys.stdin:
      yield function(*json.loads(line))

  return answer


def tell(*functions: Callable[..., Iterable[Any]]) -> None:
  """The main program of a module that `messages` runs."""
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
