# SPDX-License-Identifier: Apache-2.0
"""The C interface of oneDNN, in short.

It takes the libdnnl.so.3 that the loader finds. That of PyPI is in the folder
lib of an environment, and needs OCL_ICD_FILENAMES=.../lib/libintelocl.so too.
"""

from collections.abc import Callable, Mapping
import ctypes
import functools

import numpy as np

_DTYPES = {"float16": 1, "bfloat16": 2, "float32": 3}


class _Argument(ctypes.Structure):
  _fields_ = [("index", ctypes.c_int), ("memory", ctypes.c_void_p)]


@functools.cache
def is_installed() -> bool:
  """Returns whether there is such a library, with a device to run on."""
  try:
    _engine()
  except (OSError, RuntimeError):
    return False
  return True


@functools.cache
def _function(name):
  return getattr(ctypes.CDLL("libdnnl.so.3"), "dnnl_" + name)


def _call(name, *arguments):
  if status := _function(name)(*arguments):
    raise RuntimeError(f"dnnl_{name} returned {status}")


def _made(name, *arguments):
  made = ctypes.c_void_p()
  _call(name, ctypes.byref(made), *arguments)
  return made


@functools.cache
def _engine():
  return _made("engine_create", 1, ctypes.c_size_t(0))  # 1: the CPU.


@functools.cache
def _stream():
  return _made("stream_create", _engine(), 1)  # 1: in order.


def shape(array: np.ndarray) -> ctypes.c_void_p:
  """Returns the description of an array."""
  sizes = (ctypes.c_int64 * array.ndim)(*array.shape)
  # One, two... axes with the last one innermost are the kinds 2, 3...
  kind = _DTYPES[array.dtype.name], array.ndim + 1
  return _made("memory_desc_create_with_tag", array.ndim, sizes, *kind)


def operation(name: str, *arguments) -> ctypes.c_void_p:
  """Returns the description of an operation, whose last argument is left out."""
  return _made(f"{name}_primitive_desc_create", _engine(), *arguments, None)


def bind(described, arrays: Mapping[int, np.ndarray]) -> Callable[[], None]:
  """Returns a function that starts an operation.

  Args:
    described: by `operation`.
    arrays: by the numbers of its arguments.
  """
  primitive = _made("primitive_create", described)
  arguments = (_Argument * len(arrays))()
  for i, (index, array) in enumerate(arrays.items()):
    data = ctypes.c_void_p(array.ctypes.data)
    memory = _made("memory_create", shape(array), _engine(), data)
    arguments[i] = _Argument(index, memory)

  where = primitive, _stream(), len(arrays), arguments

  def run():
    _call("primitive_execute", *where)

  run.arrays = arrays  # They live as long.
  return run


def wait(_: object = None) -> None:
  """Waits for all that was started."""
  _call("stream_wait", _stream())
