# SPDX-License-Identifier: Apache-2.0
"""An op of an author who has the wheel, g++ and no Bazel."""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit

_softcap = kit.op(
    "foreign_softcap",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libsoftcap.so"),
        symbols={"foreign_softcap_fwd": {"cpu": "SoftcapHandler"}},
    ),
    signature="()->()",
    attributes={"cap": kit.Attribute(np.float64, minimum=1e-3)},
    reference=lambda x, *, cap: jnp.tanh(x / cap) * cap,
    dtypes=("float32",),
)


@kit.public(_softcap)
def softcap(x: jax.Array, *, cap: float = 30.0) -> jax.Array:
  """Keeps values between -cap and cap."""
  return _softcap(x, cap=cap)
