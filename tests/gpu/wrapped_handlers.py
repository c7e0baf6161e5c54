# SPDX-License-Identifier: Apache-2.0
"""The handlers of rms_norm behind handlers in Python, which change the call.

What XLA does with buffers cannot be ordered from JAX: it aligns them, and gives
results whatever memory is free. Here a Python function gets the call frame
(xla/ffi/api/c_api.h) before the handler does. It sees the metadata's call not:
what a handler says of itself, say that it can be in a CUDA graph, stays true.
"""

from collections.abc import Callable
import contextlib
import ctypes
import pathlib

import jax

import jax_ffi_ops
from jax_ffi_ops.kit import metadata

_LIBRARY = pathlib.Path(jax_ffi_ops.__file__).parent / "ops/librms_norm_ext.so"
_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_ITEM_SIZES = {10: 2, 16: 2, 11: 4, 12: 8}  # of XLA_FFI_DataType's floats
wrapped = {}  # By name. XLA keeps their addresses alone.


class _Buffer(ctypes.Structure):
  _fields_ = (
      ("struct_size", ctypes.c_size_t),
      ("extension_start", ctypes.c_void_p),
      ("dtype", ctypes.c_int),
      ("data", ctypes.c_void_p),
      ("rank", ctypes.c_int64),
      ("dims", ctypes.POINTER(ctypes.c_int64)),
  )


def _buffers(operands):
  pointers = ctypes.cast(
      operands.values, ctypes.POINTER(ctypes.POINTER(_Buffer))
  )
  return [pointers[i].contents for i in range(operands.size)]


def wrap(
    name: str,
    target: str,
    change: Callable[..., contextlib.AbstractContextManager],
) -> str:
  """Registers `name` for the default platform: `change(frame)` around `target`.

  Returns:
    The name.
  """
  is_cpu = jax.default_backend() == "cpu"
  handler = ctypes.CDLL(str(_LIBRARY))[target + ("_cpu" if is_cpu else "_cuda")]
  handler.restype, handler.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)

  def call(address):
    frame = metadata._CallFrame.from_address(address)
    if frame.extension_start:
      return handler(address)
    with change(frame):
      return handler(address)

  wrapped[name] = _HANDLER(call)
  jax.ffi.register_ffi_target(
      name,
      jax.ffi.pycapsule(wrapped[name]),
      platform="cpu" if is_cpu else "CUDA",
  )
  return name


def counting(calls: list) -> Callable:
  """Returns a `change` that adds an entry for each call of the handler."""

  @contextlib.contextmanager
  def change(frame):
    del frame
    calls.append(1)
    yield

  return change


def without_last_operands(count: int) -> Callable:
  """Returns a `change` that hides operands, which results then alias."""

  @contextlib.contextmanager
  def change(frame):
    frame.args.size -= count
    yield
    frame.args.size += count

  return change


def shifting(operands: str, results: str) -> Callable:
  """Returns a `change` that takes away what is before the second element.

  Args:
    operands: for each operand "1" to begin one element later, or "0". With
      both, the last of the first dimension is gone.
    results: likewise; what it does not reach (a workspace) is as it was.
  """

  @contextlib.contextmanager
  def change(frame):
    changed = [
        *zip(_buffers(frame.args), operands),
        *zip(_buffers(frame.rets), results),
    ]
    for sign in (1, -1):
      for buffer, shift in changed:
        buffer.dims[0] -= sign
        buffer.data += sign * int(shift) * _ITEM_SIZES[buffer.dtype]
      if sign == 1:
        yield

  return change
