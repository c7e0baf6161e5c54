# SPDX-License-Identifier: Apache-2.0
"""Where the handlers of our ops are."""

import functools
import pathlib

from jax_ffi_ops.kit.load.library import Library

_PACKAGE = pathlib.Path(__file__).parents[2]


def beside(module: str) -> Library:
  """Returns the library of an op, given the file of its module."""
  path = pathlib.Path(module)
  return _library(path.parent, path.stem)


@functools.cache
def of_folder(name: str) -> Library:
  """Returns the library of all ops in a folder of the package."""
  return _library(_PACKAGE / name, name)


def paths() -> list[pathlib.Path]:
  """Returns the files of all libraries."""
  return sorted(_PACKAGE.glob("*/" + _file("*")))


def _library(folder, name):
  return Library(folder / _file(name), prefix="xla_ffi_ops_")


def _file(name):
  return f"lib{name}_ext.so"
