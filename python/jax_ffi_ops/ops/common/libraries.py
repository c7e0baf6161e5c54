# SPDX-License-Identifier: Apache-2.0
"""Where the handlers of our ops are."""

import pathlib

from jax_ffi_ops.kit.load.library import Library


def beside(module: str) -> Library:
  """Returns the library of an op, given the file of its module."""
  path = pathlib.Path(module)
  return Library(
      path.with_name(f"lib{path.stem}_ext.so"), prefix="xla_ffi_ops_"
  )
