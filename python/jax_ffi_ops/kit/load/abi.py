# SPDX-License-Identifier: Apache-2.0
"""Reads an FFI handler's metadata without registering the handler.

XLA asks a handler for its metadata by calling it with a call frame that
carries a metadata extension and nothing else. The structs are those of
xla/ffi/api/c_api.h, which keep their layout in all versions since 0.1.
"""

import ctypes
import functools
import pathlib
import re
from typing import NamedTuple

import jax

# The oldest API that XLA's runtime accepts (xla/ffi/ffi_registry.cc).
OLDEST_API = (0, 1)

_METADATA_EXTENSION = 1  # XLA_FFI_Extension_Metadata
_COMMAND_BUFFER_COMPATIBLE = 1  # XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_...


class _Version(ctypes.Structure):
  _fields_ = (
      ("struct_size", ctypes.c_size_t),
      ("extension_start", ctypes.c_void_p),
      ("major", ctypes.c_int),
      ("minor", ctypes.c_int),
  )


class _Metadata(ctypes.Structure):
  _fields_ = (
      ("struct_size", ctypes.c_size_t),
      ("api_version", _Version),
      ("traits", ctypes.c_uint32),
      ("state_type_id", ctypes.c_int64),
  )


class _MetadataExtension(ctypes.Structure):
  _fields_ = (
      ("struct_size", ctypes.c_size_t),
      ("type", ctypes.c_int),
      ("next", ctypes.c_void_p),
      ("metadata", ctypes.POINTER(_Metadata)),
  )


class _Operands(ctypes.Structure):  # of args, rets and attrs
  _fields_ = (
      ("struct_size", ctypes.c_size_t),
      ("extension_start", ctypes.c_void_p),
      ("size", ctypes.c_int64),
      ("types", ctypes.c_void_p),
      ("values", ctypes.c_void_p),
  )


class _Attributes(ctypes.Structure):
  _fields_ = (
      *_Operands._fields_[:4],
      ("names", ctypes.c_void_p),
      ("values", ctypes.c_void_p),
  )


class _CallFrame(ctypes.Structure):
  _fields_ = (
      ("struct_size", ctypes.c_size_t),
      ("extension_start", ctypes.POINTER(_MetadataExtension)),
      ("api", ctypes.c_void_p),
      ("ctx", ctypes.c_void_p),
      ("stage", ctypes.c_int),
      ("args", _Operands),
      ("rets", _Operands),
      ("attrs", _Attributes),
      ("future", ctypes.c_void_p),
  )


# Stands in for XLA_FFI_Api: a handler that refuses the call makes an error
# through it, the address of which is all that is looked at here.
_FailType = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_fail = _FailType(lambda _: 1)


# The functions of XLA_FFI_Api, without the prefix XLA_FFI_, in order.
FUNCTIONS = (
    "Error_Create", "Error_GetMessage", "Error_Destroy", "Handler_Register",
    "Stream_Get", "Type_Register", "ExecutionContext_Get", "State_Set",
    "State_Get", "DeviceMemory_Allocate", "DeviceMemory_Free",
    "ThreadPool_Schedule", "ThreadPool_NumThreads", "Future_Create",
    "Future_SetAvailable", "Future_SetError", "RunId_Get", "DeviceOrdinal_Get",
)  # fmt: skip
ROOM = 64  # Later versions have more of them.


class _Api(ctypes.Structure):
  _fields_ = (
      ("struct_size", ctypes.c_size_t),
      ("extension_start", ctypes.c_void_p),
      ("api_version", _Version),
      ("internal_api", ctypes.c_void_p),
      ("functions", _FailType * ROOM),
  )


class Metadata(NamedTuple):
  """What a handler says of itself.

  Attributes:
    api_version: major and minor version of the headers it was compiled with.
    command_buffer_compatible: whether XLA may record it in a CUDA graph.
    stateful: whether it makes a state for other stages of its call.
  """

  api_version: tuple[int, int]
  command_buffer_compatible: bool
  stateful: bool


def read_metadata(handler: ctypes._CFuncPtr) -> Metadata | None:
  """Returns a handler's metadata, or None where it does not answer."""
  metadata = _Metadata(struct_size=_Metadata.state_type_id.offset)
  metadata.api_version.struct_size = ctypes.sizeof(_Version)
  extension = _MetadataExtension(
      struct_size=ctypes.sizeof(_MetadataExtension),
      type=_METADATA_EXTENSION,
      metadata=ctypes.pointer(metadata),
  )
  api = _Api(struct_size=ctypes.sizeof(_Api), functions=(_fail,) * ROOM)
  frame = _CallFrame(
      struct_size=_CallFrame.future.offset,
      extension_start=ctypes.pointer(extension),
      api=ctypes.addressof(api),
  )
  handler.restype = ctypes.c_void_p
  failed = handler(ctypes.byref(frame))
  version = (metadata.api_version.major, metadata.api_version.minor)
  if version == (0, 0):
    return None
  # A handler that makes a state fails until the state's type is registered. It
  # has filled in the other fields before that.
  return Metadata(
      version,
      bool(metadata.traits & _COMMAND_BUFFER_COMPATIBLE),
      bool(failed or metadata.state_type_id),
  )


@functools.cache
def runtime_api() -> tuple[int, int]:
  """Returns the FFI API version of the installed jaxlib."""
  header = pathlib.Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h")
  major, minor = re.findall(
      r"^#define XLA_FFI_API_(?:MAJOR|MINOR) (\d+)$", header.read_text(), re.M
  )
  return int(major), int(minor)


def is_accepted(version: tuple[int, int]) -> bool:
  """Returns whether the installed jaxlib runs handlers of an API version."""
  return OLDEST_API <= version <= runtime_api()
