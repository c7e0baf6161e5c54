# SPDX-License-Identifier: Apache-2.0
"""Call frames as XLA passes them to a handler.

The structs are those of xla/ffi/api/c_api.h of the headers that handlers are
compiled with; newer versions of jaxlib keep their layout.
"""

from collections.abc import Iterable, Mapping
import ctypes
from typing import Any

import numpy as np

from jax_ffi_ops.kit.load import abi

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


_Pointer = ctypes.c_void_p


class _Buffer(ctypes.Structure):
  _fields_ = (
      ("struct_size", ctypes.c_size_t),
      ("extension_start", _Pointer),
      ("dtype", ctypes.c_int),
      ("data", _Pointer),
      ("rank", ctypes.c_int64),
      ("dims", _Pointer),
  )


class _Scalar(ctypes.Structure):
  _fields_ = (("dtype", ctypes.c_int), ("value", _Pointer))


class _Array(ctypes.Structure):
  _fields_ = (
      ("dtype", ctypes.c_int),
      ("size", ctypes.c_size_t),
      ("data", _Pointer),
  )


class _Span(ctypes.Structure):  # XLA_FFI_ByteSpan
  _fields_ = (("ptr", ctypes.c_char_p), ("len", ctypes.c_size_t))


class CallFrame:
  """A call frame of a handler's execution, which lives as long as this does.

  Attributes:
    struct: what the handler gets the address of.
  """

  def __init__(
      self,
      api: abi._Api,
      operands: Iterable[Any],
      results: Iterable[Any],
      attributes: Mapping[str, Any],
  ):
    """Makes the frame of buffers, which are pairs of a Buffer and an address."""
    self._kept = [api]
    self.struct = abi._CallFrame(
        abi._CallFrame.future.offset, None, ctypes.addressof(api), None,
        _EXECUTE, self._buffers(operands), self._buffers(results),
        self._attributes(attributes), None,
    )  # fmt: skip

  def _keep(self, x):
    self._kept.append(x)
    return ctypes.addressof(x)

  def _numbers(self, kind, values):
    values = tuple(values)
    return self._keep((kind * len(values))(*values))

  def _buffers(self, buffers):
    pointers = []
    for b, address in buffers:
      dims = self._numbers(ctypes.c_int64, b.shape)
      made = _Buffer(ctypes.sizeof(_Buffer), None, _CODES[np.dtype(b.dtype).name],
                     address, len(b.shape), dims)  # fmt: skip
      pointers.append(self._keep(made))
    types = self._numbers(ctypes.c_int, (1,) * len(pointers))
    return abi._Operands(
        ctypes.sizeof(abi._Operands), None, len(pointers), types,
        self._numbers(_Pointer, pointers),
    )  # fmt: skip

  def _attributes(self, attributes):
    kinds, names, values = [], [], []
    for name, value in sorted(attributes.items()):  # as XLA has them
      kind, made = self._attribute(value)
      kinds.append(kind)
      names.append(self._keep(_Span(name.encode(), len(name))))
      values.append(self._keep(made))
    return abi._Attributes(
        ctypes.sizeof(abi._Attributes), None, len(kinds),
        self._numbers(ctypes.c_int, kinds), self._numbers(_Pointer, names),
        self._numbers(_Pointer, values),
    )  # fmt: skip

  def _attribute(self, value):
    if isinstance(value, str):
      return _STRING, _Span(value.encode(), len(value.encode()))
    if isinstance(value, Mapping):
      return _DICTIONARY, self._attributes(value)
    data = np.array(value)
    self._kept.append(data)
    code = _CODES[data.dtype.name]
    if isinstance(value, np.ndarray):
      return _ARRAY, _Array(code, data.size, data.ctypes.data)
    return _SCALAR, _Scalar(code, data.ctypes.data)
