# SPDX-License-Identifier: Apache-2.0
"""The larger eigenvalue of symmetric 2x2 matrices."""

import pathlib

import jax.numpy as jnp

from jax_ffi_ops import kit


def _reference(a):
  mean, half = (a[0, 0] + a[1, 1]) / 2, (a[0, 0] - a[1, 1]) / 2
  return mean + jnp.hypot(half, a[0, 1])


eigenvalue = kit.op(
    "eigenvalue",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libeigenvalue_ext.so"),
        prefix="example_",
    ),
    signature="(2,2)->()",
    reference=_reference,
    dtypes=("float32",),
)
