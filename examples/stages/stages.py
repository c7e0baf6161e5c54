# SPDX-License-Identifier: Apache-2.0
"""A handler of four stages, registered by jax.ffi."""

import ctypes
import functools
import pathlib

import jax
import numpy as np

from jax_ffi_ops import kit

LIBRARY = str(pathlib.Path(__file__).with_name("libstages_ext.so"))
_HANDLERS = ctypes.CDLL(LIBRARY)

# In the order in which XLA calls them.
STAGES = ("instantiate", "prepare", "initialize", "execute")
# jax's names of what the library was built for.
PLATFORMS = {
    name: platform
    for name, platform in (("cpu", "cpu"), ("cuda", "CUDA"))
    if hasattr(_HANDLERS, f"example_stages_execute_{name}")
}


def _object(symbol):
  """Returns a capsule of the object whose address a function returns."""
  function = _HANDLERS[symbol]
  function.restype = ctypes.c_void_p
  return jax.ffi.pycapsule(ctypes.c_void_p(function()))


@functools.cache
def _register():
  # jax registers what it has got before in the wrong order: handlers first.
  jax.devices()
  for name, platform in PLATFORMS.items():
    for stage in STAGES[:-1]:  # These make a state each.
      symbol = f"example_stages_{stage}_type"
      kinds = {
          f"type_{k}": _object(f"{symbol}_{k}_cpu") for k in ("id", "info")
      }
      jax.ffi.register_ffi_type(symbol, kinds, platform=platform)
    handlers = {
        stage: jax.ffi.pycapsule(_HANDLERS[f"example_stages_{stage}_{name}"])
        for stage in STAGES
    }
    jax.ffi.register_ffi_target("example_stages", handlers, platform=platform)


def scale(x: jax.Array, factor: float) -> jax.Array:
  """Returns factor * x for a float32 vector."""
  _register()
  call = jax.ffi.ffi_call(
      "example_stages", jax.ShapeDtypeStruct(x.shape, x.dtype)
  )
  return call(x, factor=np.float32(factor))


# run_id, device = where(): of this call, on the CPU; under jax.enable_x64.
where = kit.call(
    "example_where",
    library=kit.Library(LIBRARY),
    results=lambda: (jax.ShapeDtypeStruct((), np.int64),) * 2,
    has_side_effect=True,
)


def counts() -> dict[str, int]:
  """Returns how often each stage was called in this process."""
  count = _HANDLERS.example_stages_count_cpu
  count.restype = ctypes.c_int64
  return {stage: count(i) for i, stage in enumerate(STAGES)}
