# SPDX-License-Identifier: Apache-2.0
"""A handler that takes and returns matrices in column-major order."""

import pathlib

import jax

from jax_ffi_ops import kit

COLUMN_MAJOR = (1, 0)  # Axis 1 has the largest stride.

_call = kit.call(
    "example_running_sums",
    library=kit.Library(pathlib.Path(__file__).with_name("liblayouts_ext.so")),
    results=lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype),
    input_layouts=[COLUMN_MAJOR],
    output_layouts=COLUMN_MAJOR,
)


def running_sums(x: jax.Array) -> jax.Array:
  """Returns jax.numpy.cumsum(x, axis=0).

  Args:
    x: float32 array of shape [rows, columns], in any layout.

  Raises:
    jax.errors.JaxRuntimeError: it has another dtype or rank.
  """
  return _call(x)
