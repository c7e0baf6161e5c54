# SPDX-License-Identifier: Apache-2.0
"""Stands in for XLA's runtime on the CPU, for calls that nothing compiles."""

from collections.abc import Iterable, Mapping
import ctypes
import random
import threading
from typing import Any, NamedTuple

from jax_ffi_ops.kit.load import abi
from jax_ffi_ops.kit.testing.direct.c_structs import CallFrame

INVALID_ARGUMENT, _UNIMPLEMENTED = 3, 12  # XLA_FFI_Error_Code
_Task = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Error(NamedTuple):
  code: int
  message: str

  def __str__(self):  # as of XLA's
    known = self.code == INVALID_ARGUMENT
    return f"{'INVALID_ARGUMENT' if known else self.code}: {self.message}"


def _field(args, index, kind=ctypes.c_void_p):
  """Returns what follows the size and the extensions of an API's struct."""
  return kind.from_address(args + 16 + 8 * index)


class Runtime:
  """Stands in for XLA: makes errors and futures, and runs tasks.

  A task runs on a thread of its own, while the handler schedules it, or after
  the handler has returned: then in any order.
  """

  def __init__(self):
    functions = {
        "Error_Create": self._create_error,
        "Error_GetMessage": self._message,
        "Error_Destroy": lambda _: None,
        "ThreadPool_Schedule": self._schedule,
        "ThreadPool_NumThreads": self._count_threads,
        "Future_Create": self._create_future,
        "Future_SetAvailable": self._set_available,
        "Future_SetError": self._set_error,
    }
    slots = [functions.get(name, self._lack) for name in abi.FUNCTIONS]
    slots += [self._lack] * (abi.ROOM - len(slots))
    self._api = abi._Api(
        ctypes.sizeof(abi._Api), functions=tuple(map(abi._FailType, slots))
    )

  def call(
      self,
      handler: Any,
      operands: Iterable[Any],
      results: Iterable[Any],
      attributes: Mapping[str, Any],
      rng: random.Random,
  ) -> Error | None:
    """Calls a handler with pairs of a Buffer and an address.

    Raises:
      NotImplementedError: the handler asks for what this runtime lacks.
    """
    self._errors, self._futures, self._tasks = [], [], []
    self._lacks = False
    self._threads = rng.randrange(5)
    self._run = rng.choice((self._now, self._tasks.append, self._on_a_thread))
    frame = CallFrame(self._api, operands, results, attributes)
    handler.restype = ctypes.c_void_p
    error = handler(ctypes.byref(frame.struct))
    rng.shuffle(self._tasks)
    for task in self._tasks:
      task.join() if isinstance(task, threading.Thread) else self._now(task)
    if self._lacks:
      raise NotImplementedError
    for future in self._futures:
      assert len(future) == 1, f"a future is resolved with {future}"
    future = frame.struct.future
    assert not (error and future), "both an error and a future"
    if future:
      error = self._futures[future - 1][0]
    return self._errors[error - 1] if error else None

  # XLA_FFI_Api. Errors and futures are numbers from 1.

  def _lack(self, _):
    self._lacks = True
    return self._error(_UNIMPLEMENTED, "only XLA has this")

  def _create_error(self, args):
    message = ctypes.string_at(_field(args, 0).value)
    return self._error(_field(args, 1, ctypes.c_int).value, message.decode())

  def _error(self, code, message):
    self._errors.append(Error(code, message))
    return len(self._errors)

  def _message(self, args):
    error = self._errors[_field(args, 0).value - 1]
    self._said = ctypes.create_string_buffer(error.message.encode())
    _field(args, 1).value = ctypes.addressof(self._said)

  def _count_threads(self, args):
    ctypes.c_int64.from_address(_field(args, 1).value).value = self._threads

  def _schedule(self, args):
    self._run((_field(args, 1).value, _field(args, 2).value))

  def _now(self, task):
    _Task(task[0])(task[1])

  def _on_a_thread(self, task):
    thread = threading.Thread(target=self._now, args=(task,))
    self._tasks.append(thread)
    thread.start()

  def _create_future(self, args):
    self._futures.append([])
    _field(args, 0).value = len(self._futures)

  def _set_available(self, args):
    self._futures[_field(args, 0).value - 1].append(None)

  def _set_error(self, args):
    error = _field(args, 1).value
    self._futures[_field(args, 0).value - 1].append(error)
