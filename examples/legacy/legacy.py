# SPDX-License-Identifier: Apache-2.0
"""factor * x by a custom call of the API before FFI, and by FFI."""

import ctypes
import pathlib

import jax
import numpy as np

from jax_ffi_ops import kit

LIBRARY = str(pathlib.Path(__file__).with_name("liblegacy_ext.so"))
_FUNCTIONS = ctypes.CDLL(LIBRARY)

# Not by kit.Library: it asks each handler for its version of FFI's API.
for _device, _platform in (("cpu", "cpu"), ("cuda", "CUDA")):
  for _target in ("example_legacy_1", "example_legacy_2", "example_legacy_3"):
    if hasattr(_FUNCTIONS, f"{_target}_{_device}"):
      jax.ffi.register_ffi_target(
          _target,
          jax.ffi.pycapsule(_FUNCTIONS[f"{_target}_{_device}"]),
          platform=_platform,
          api_version=0,
      )


def pack(n: int, factor: float) -> bytes:
  """Returns the descriptor of a call: a C++ struct's bytes."""
  function = _FUNCTIONS.example_legacy_pack_cpu
  function.restype = ctypes.c_size_t
  opaque = ctypes.create_string_buffer(1000)
  room = ctypes.c_size_t(len(opaque))
  size = function(ctypes.c_int64(n), ctypes.c_float(factor), opaque, room)
  return opaque.raw[:size]


def scale(x: jax.Array, factor: float, version: int = 3) -> jax.Array:
  """Returns factor * x for a float32 vector, by a legacy custom call.

  Args:
    x: a float32 vector. The callee cannot check that.
    factor: any number.
    version: of the custom call's API: 1 and 2 are for the CPU alone.
  """
  result = jax.ShapeDtypeStruct(x.shape, x.dtype)
  call = jax.ffi.ffi_call(
      f"example_legacy_{version}",
      result,
      custom_call_api_version=version,
      legacy_backend_config=pack(x.size, factor) if version == 3 else "",
  )
  if version == 3:
    return call(x)
  return call(np.int32(x.size), np.float32(factor), x)


# typed(x, factor=2.5): the same by FFI.
typed = kit.call(
    "example_typed",
    library=kit.Library(LIBRARY),
    results=lambda x, *, factor: jax.ShapeDtypeStruct(x.shape, x.dtype),
    attributes={"factor": np.float32},
)
