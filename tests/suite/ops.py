# SPDX-License-Identifier: Apache-2.0
"""Ops of many kinds, as declared by an author of a few handlers."""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit

# The handlers here are for the CPU, whatever else a machine has.
jax.config.update("jax_platforms", "cpu")

library = kit.Library(pathlib.Path(__file__).with_name("libhandlers_ext.so"))

# Elementwise; no backward handler, so derivatives are the reference's.
logaddexp = kit.op(
    "test_logaddexp",
    library=library,
    signature="(),()->()",
    outputs=("z",),
    dtypes=("float32", "float64"),
    reference=lambda x, y: jnp.logaddexp(x, y),
)

# Either operand may be a weight that rows share.
matvec = kit.op(
    "test_matvec",
    library=library,
    signature="(m,n),(n)->(m)",
    dtypes=("float32",),
    row_sums=("a", "x"),
    reference=lambda a, x: a @ x,
)

# An integer operand, which has no derivatives.
take = kit.op(
    "test_take",
    library=library,
    signature="(n),(k)->(k)",
    dtypes={"x": ("float32",), "indices": ("int32",)},
    reference=lambda x, indices: jnp.take(x, indices, mode="clip"),
)

# Two results that callers see, one of them an integer.
max_and_index = kit.op(
    "test_max",
    library=library,
    signature="(n)->(),()",
    outputs=("value", "index"),
    dtypes=kit.FLOATING,
    results=lambda x: (x.dtype, np.int32),
    reference=lambda x: (jnp.max(x), jnp.argmax(x).astype(np.int32)),
)

# Without a reference: no derivatives, and no other platforms.
cumsum = kit.op(
    "test_cumsum",
    library=library,
    signature="(n)->(n)",
    dtypes=("float64",),
    operands=("x",),
)


def _polynomial(x, *, coefficients, form, lowest, negated, scale):
  powers = x ** (lowest + np.arange(len(coefficients)))
  value = scale * jnp.sum(coefficients.astype(x.dtype) * powers)
  value = (-value if negated else value).astype(x.dtype)
  return 1 / (1 + value * value) if form == "bell" else value


# Attributes of all kinds.
polynomial = kit.op(
    "test_polynomial",
    library=library,
    signature="()->()",
    dtypes=("float32",),
    attributes={
        "coefficients": [np.float64],
        "form": str,
        "lowest": kit.Attribute(np.int32, minimum=0),
        "negated": np.bool_,
        "scale": np.float32,
    },
    reference=_polynomial,
)
