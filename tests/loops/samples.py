# SPDX-License-Identifier: Apache-2.0
"""A few primitives of each family that takes long to compile."""

import pathlib

from jax import lax
import jax.numpy as jnp

from jax_ffi_ops import kit


def reference(a, b, i):
  return (
      a.T @ a,
      jnp.max(a, 0),
      jnp.cumsum(b),
      jnp.sort(b),
      jnp.argmax(b),
      a[:, i],
      b.at[i].add(1.0),
      lax.dynamic_update_slice(a, a[:2, 1:] * 2, (i, i)),
      jnp.flip(jnp.concatenate([b[1:], b[:1]])),
      jnp.where(a.T > 0, b[:, None], a.T),
  )


samples = kit.op(
    "samples",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libsamples_ext.so"), prefix="loops_"
    ),
    signature="(3,5),(5),()->(5,5),(5),(5),(5),(),(3),(5),(3,5),(5),(5,3)",
    reference=reference,
    operands=("a", "b", "i"),
    dtypes={"a": ["float32"], "b": ["float32"], "i": ["int32"]},
)
