# SPDX-License-Identifier: Apache-2.0
"""Calls of handlers without XLA: by call frames and a runtime made here.

The structs are those of xla/ffi/api/c_api.h of the headers that handlers are
compiled with; newer versions of jaxlib keep their layout.
"""

from collections.abc import Iterable, Mapping
import ctypes
import random
import threading
from typing import Any, NamedTuple

import numpy as np

from jax_ffi_ops.kit import metadata as abi

_CODES = {  # XLA_FFI_DataType
    **{"bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6},
    **{"uint16": 7, "uint32": 8, "uint64": 9, "float16": 10, "float32": 11},
    **{"float64": 12, "complex64": 15, "bfloat16": 16, "complex128": 18},
    **{"float8_e5m2": 19, "float8_e4m3fn": 20, "int4": 21, "uint4": 22},
    **{"float8_e4m3b11fnuz": 23, "float8_e5m2fnuz": 24, "float8_e4m3fnuz": 25},
    **{"int2": 26, "uint2": 27, "float8_e4m3": 28, "float8_e3m4": 29},
    **{"float4_e2m1fn": 32, "float8_e8m0fnu": 33},
}
_ARRAY, _DICTIONARY, _SCALAR, _STRING = 1, 2, 3, 4  # XLA_FFI_AttrType
_EXECUTE = 3  # XLA_FFI_ExecutionStage
INVALID_ARGUMENT = 3  # XLA_FFI_Error_Code
_Task = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _struct(*types):
  fields = tuple((f"f{i}", t) for i, t in enumerate(types))
  return type("Struct", (ctypes.Structure,), {"_fields_": fields})


_Pointer, _Size = ctypes.c_void_p, ctypes.c_size_t
_Buffer = _struct(
    _Size, _Pointer, ctypes.c_int, _Pointer, ctypes.c_int64, _Pointer
)
_Scalar = _struct(ctypes.c_int, _Pointer)
_Array = _struct(ctypes.c_int, _Size, _Pointer)
_Span = _struct(ctypes.c_char_p, _Size)


class Error(NamedTuple):
  code: int
  message: str


class _Arguments:
  """The parts of a call frame, which live as long as this does."""

  def __init__(self):
    self._kept = []

  def keep(self, x):
    self._kept.append(x)
    return ctypes.addressof(x)

  def numbers(self, kind, values):
    values = tuple(values)
    return self.keep((kind * len(values))(*values))

  def buffers(self, buffers):
    pointers = []
    for b, address in buffers:
      dims = self.numbers(ctypes.c_int64, b.shape)
      made = _Buffer(ctypes.sizeof(_Buffer), None, _CODES[np.dtype(b.dtype).name],
                     address, len(b.shape), dims)  # fmt: skip
      pointers.append(self.keep(made))
    types = self.numbers(ctypes.c_int, (1,) * len(pointers))
    return abi._Operands(
        ctypes.sizeof(abi._Operands), None, len(pointers), types,
        self.numbers(_Pointer, pointers),
    )  # fmt: skip

  def attributes(self, attributes):
    kinds, names, values = [], [], []
    for name, value in sorted(attributes.items()):  # as XLA has them
      kind, made = self._attribute(value)
      kinds.append(kind)
      names.append(self.keep(_Span(name.encode(), len(name))))
      values.append(self.keep(made))
    return abi._Attributes(
        ctypes.sizeof(abi._Attributes), None, len(kinds),
        self.numbers(ctypes.c_int, kinds), self.numbers(_Pointer, names),
        self.numbers(_Pointer, values),
    )  # fmt: skip

  def _attribute(self, value):
    if isinstance(value, str):
      return _STRING, _Span(value.encode(), len(value.encode()))
    if isinstance(value, Mapping):
      return _DICTIONARY, self.attributes(value)
    data = np.array(value)
    self._kept.append(data)
    code = _CODES[data.dtype.name]
    if isinstance(value, np.ndarray):
      return _ARRAY, _Array(code, data.size, data.ctypes.data)
    return _SCALAR, _Scalar(code, data.ctypes.data)


def _field(args, index, kind=_Pointer):
  """Returns what follows the size and the extensions of an API's struct."""
  return kind.from_address(args + 16 + 8 * index)


class Runtime:
  """Stands in for XLA: makes errors and futures, and runs tasks.

  A task runs on a thread of its own, while the handler schedules it, or after
  the handler has returned: then in any order.
  """

  def __init__(self):
    functions = {
        **{0: self._create_error, 1: self._message, 11: self._schedule},
        **{12: self._count_threads, 13: self._create_future},
        **{14: self._set_available, 15: self._set_error},
    }
    functions = [functions.get(i, lambda _: None) for i in range(64)]
    functions = (abi._FailType * 64)(*map(abi._FailType, functions))
    self._api = abi._Api(ctypes.sizeof(abi._Api), functions=functions)

  def call(
      self,
      handler: Any,
      operands: Iterable[Any],
      results: Iterable[Any],
      attributes: Mapping[str, Any],
      rng: random.Random,
  ) -> Error | None:
    """Calls a handler with pairs of a Buffer and an address."""
    self._errors, self._futures, self._tasks = [], [], []
    self._threads = rng.randrange(5)
    self._run = rng.choice((self._now, self._tasks.append, self._on_a_thread))
    parts = _Arguments()
    frame = abi._CallFrame(
        abi._CallFrame.future.offset, None, ctypes.addressof(self._api), None,
        _EXECUTE, parts.buffers(operands), parts.buffers(results),
        parts.attributes(attributes), None,
    )  # fmt: skip
    handler.restype = _Pointer
    error = handler(ctypes.byref(frame))
    rng.shuffle(self._tasks)
    for task in self._tasks:
      task.join() if isinstance(task, threading.Thread) else self._now(task)
    for future in self._futures:
      assert len(future) == 1, f"a future is resolved with {future}"
    assert not (error and frame.future), "both an error and a future"
    if frame.future:
      error = self._futures[frame.future - 1][0]
    return self._errors[error - 1] if error else None

  # XLA_FFI_Api. Errors and futures are numbers from 1.

  def _create_error(self, args):
    message = ctypes.string_at(_field(args, 0).value)
    code = _field(args, 1, ctypes.c_int).value
    self._errors.append(Error(code, message.decode()))
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
