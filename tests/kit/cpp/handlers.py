# SPDX-License-Identifier: Apache-2.0
"""Loads the C++ handlers of these tests."""

import ctypes
import pathlib

import jax


def load(path: str) -> ctypes.CDLL:
  """Returns a shared object: "rows/call_ext" is rows/libcall_ext.so."""
  folder, name = path.split("/")
  here = pathlib.Path(__file__).parent
  return ctypes.CDLL(str(here / folder / f"lib{name}.so"))


def register(path: str, *targets: str) -> None:
  """Registers handlers of a shared object with JAX."""
  loaded = load(path)
  for target in targets:
    handler = jax.ffi.pycapsule(loaded[target + "_cpu"])
    jax.ffi.register_ffi_target(target, handler, platform="cpu")
