# SPDX-License-Identifier: Apache-2.0
"""Loads the C++ handlers of these tests."""

import ctypes
import pathlib

import jax


def load(name: str) -> ctypes.CDLL:
  """Returns the shared object `name` of this folder."""
  return ctypes.CDLL(str(pathlib.Path(__file__).with_name(f"lib{name}.so")))


def register(*targets: str) -> None:
  """Registers handlers of libkit_test_ext.so with JAX."""
  library = load("kit_test_ext")
  for target in targets:
    handler = jax.ffi.pycapsule(library[target + "_cpu"])
    jax.ffi.register_ffi_target(target, handler, platform="cpu")
