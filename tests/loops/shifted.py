# SPDX-License-Identifier: Apache-2.0
"""An array that is moved along itself: what is read overlaps what is written.

XLA gets it wrong if a reshape follows (openxla/xla#49176).
"""

import pathlib

from jax import lax

from jax_ffi_ops import kit


def reference(x):
  return lax.dynamic_update_slice(x, x[:3], (1, 0, 0)).ravel()


shifted = kit.op(
    "shifted",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libshifted_ext.so"), prefix="loops_"
    ),
    signature="(4,1,1)->(4)",
    reference=reference,
    dtypes=("int32",),
)
