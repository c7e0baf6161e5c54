# SPDX-License-Identifier: Apache-2.0
"""Loads the C++ handlers of these tests."""

import ctypes
import pathlib

import jax


def load(name: str) -> ctypes.CDLL:
  """Returns the shared object `name` of this folder."""
  return ctypes.CDLL(str(pathlib.Path(__file__).with_name(f"lib{name}.so")))


def register(*targets: str, library: str = "kit_test_ext") -> None:
  """Registers handlers of a shared object with JAX."""
  loaded = load(library)
  for target in targets:
    handler = jax.ffi.pycapsule(loaded[target + "_cpu"])
    jax.ffi.register_ffi_target(target, handler, platform="cpu")
