# SPDX-License-Identifier: Apache-2.0
"""Loads the handler from whatever shared object has it."""

from collections.abc import Callable
import ctypes
import os

import jax


def half(path: str | os.PathLike[str]) -> Callable[[jax.Array], jax.Array]:
  """Returns the function x / 2 of float32 arrays.

  Args:
    path: the shared object, which XLA must accept: it is compiled against the
      headers of this jaxlib or an older one.
  """
  handler = ctypes.CDLL(path).example_half_cpu
  target = f"example_half {path}"  # A handler of each object.
  jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(handler), "cpu")
  return lambda x: jax.ffi.ffi_call(
      target, jax.ShapeDtypeStruct(x.shape, x.dtype)
  )(x)
