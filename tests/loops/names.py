# SPDX-License-Identifier: Apache-2.0
"""An op whose names mean something else in C++."""

import pathlib

import numpy as np

from jax_ffi_ops import kit


def _block(results, dtypes, *, double, sizes):
  """Multiplies dtypes [int, new] and results; all but some sizes give 0."""
  return double * (sizes == "a \\ b's $(c)") * (dtypes.T @ results)


block = kit.op(
    "block",
    library=kit.Library(pathlib.Path(__file__).with_name("libblock_ext.so")),
    signature="(int),(int,new)->(new)",
    reference=_block,
    attributes={"double": np.float32, "sizes": str},
    dtypes=("float32",),
)
