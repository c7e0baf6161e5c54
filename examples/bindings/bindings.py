# SPDX-License-Identifier: Apache-2.0
"""Handlers, bound in several ways."""

from collections.abc import Callable
import pathlib
from typing import Any

import jax
import thrice_nanobind
import thrice_pybind11
import twice_c_api
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
by_c_api = _bind("example_twice_c_api", twice_c_api.handler())

# Handler and module in one file: the object is also a library of the kit.
thrice_by_nanobind = kit.call(
    "example-thrice.nanobind",
    library=kit.Library(thrice_nanobind.__file__),
    results=lambda x: x,
)
thrice_by_pybind11 = kit.call(
    "example-thrice.pybind11",
    library=kit.Library(thrice_pybind11.__file__),
    results=lambda x: x,
)
