# SPDX-License-Identifier: Apache-2.0
"""Handlers behind handlers in Python, which change the call.

What XLA does with buffers cannot be ordered from JAX: it aligns them, and gives
results whatever memory is free. Here a Python function gets the call frame
(xla/ffi/api/c_api.h) before the handler does. It sees the metadata's call not:
what a handler says of itself, say that it can be in a CUDA graph, stays true.
"""

from collections.abc import Callable, Sequence
import contextlib
import ctypes

import jax

from jax_ffi_ops.kit.load import abi
from jax_ffi_ops.kit.testing.direct.contract import Target

_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_ITEM_SIZES = {10: 2, 16: 2, 11: 4, 12: 8}  # of XLA_FFI_DataType's floats
_wrapped = {}  # By name. XLA keeps their addresses alone.


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
    target: Target,
    change: Callable[..., contextlib.AbstractContextManager],
) -> str:
  """Registers `change(frame)` around a target, for the default platform.

  Args:
    name: ends the new target's name.
    target: see above.
    change: of each name and target, the first one is registered.

  Returns:
    The new target's name.
  """
  name = f"{target.name}_{name}"
  if name in _wrapped:
    return name
  suffix, platform = (
      ("_cpu", "cpu") if jax.default_backend() == "cpu" else ("_cuda", "CUDA")
  )
  library = ctypes.CDLL(target.call.op.library.path)
  handler = library[target.name + suffix]
  handler.restype, handler.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)

  def call(address):
    frame = abi._CallFrame.from_address(address)
    if frame.extension_start:
      return handler(address)
    with change(frame):
      return handler(address)

  _wrapped[name] = _HANDLER(call)
  jax.ffi.register_ffi_target(
      name, jax.ffi.pycapsule(_wrapped[name]), platform=platform
  )
  return name


@contextlib.contextmanager
def into_operands(frame, shifts: Sequence[int]):
  """Hides the last operands, which results alias, and padding of all buffers.

  Args:
    frame: of the call.
    shifts: how many elements are before those that the handler sees, of each
      other operand and of each result. All have one more than it sees in their
      first dimension.
  """
  frame.args.size -= frame.rets.size
  changed = list(zip(_buffers(frame.args) + _buffers(frame.rets), shifts))
  for sign in (1, -1):
    for buffer, shift in changed:
      buffer.dims[0] -= sign
      buffer.data += sign * shift * _ITEM_SIZES[buffer.dtype]
    if sign == 1:
      yield
  frame.args.size += frame.rets.size
