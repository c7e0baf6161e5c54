# SPDX-License-Identifier: Apache-2.0
"""One handler, bound in three ways."""

from collections.abc import Callable
import pathlib
from typing import Any

import jax
import twice_nanobind
import twice_pybind11

from jax_ffi_ops import kit

_LIBRARY = kit.Library(pathlib.Path(__file__).with_name("libtwice_ext.so"))


def _call(target: str) -> Callable[[jax.Array], jax.Array]:
  return lambda x: jax.ffi.ffi_call(
      target, jax.ShapeDtypeStruct(x.shape, x.dtype)
  )(x)


def _bind(target: str, capsule: Any) -> Callable[[jax.Array], jax.Array]:
  jax.ffi.register_ffi_target(target, capsule, platform="cpu")
  return _call(target)


# ctypes, by the kit: no extension, one file for all versions of Python.
_LIBRARY.register("example_twice")
by_ctypes = _call("example_twice")

# Each extension has a copy of the handler, and so needs a name of its own.
by_nanobind = _bind("example_twice_nanobind", twice_nanobind.handler())
by_pybind11 = _bind("example_twice_pybind11", twice_pybind11.handler())
