# SPDX-License-Identifier: Apache-2.0
"""Tries calls that may end the process, in another one."""

from collections.abc import Callable, Iterable
import contextlib
import os
import signal
import warnings

_SECONDS = 120


def ended(
    calls: Iterable[Callable[[], object]], errors: tuple[type[Exception], ...]
) -> tuple[int, str] | None:
  """Makes calls in a copy of this process, which has no other threads.

  Args:
    calls: functions that do not use XLA: it needs its threads.
    errors: what they may raise.

  Returns:
    Which one ended that process, and by what; None if all returned.
  """
  reader, writer = os.pipe()
  with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Of JAX and Python, about the threads.
    child = os.fork()
  if not child:
    status = 1
    try:
      signal.alarm(_SECONDS)
      for call in calls:
        os.write(writer, b".")
        with contextlib.suppress(*errors):
          call()
      status = 0
    finally:
      os._exit(status)  # Without what this process does at its end.
  os.close(writer)
  with open(reader, "rb") as begun:
    count = len(begun.read())
  _, status = os.waitpid(child, 0)
  if not status:
    return None
  code = os.waitstatus_to_exitcode(status)
  return count - 1, signal.Signals(-code).name if code < 0 else f"exit({code})"
