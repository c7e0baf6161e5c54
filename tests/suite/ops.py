# SPDX-License-Identifier: Apache-2.0
"""Ops of many kinds, as declared by an author of a few handlers."""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit

# The handlers here are for the CPU, whatever else a machine has.
jax.config.update("jax_platforms", "cpu")

library = kit.Library(
    pathlib.Path(__file__).with_name("libhandlers_ext.so"), prefix="test_"
)

# Elementwise; no backward handler, so derivatives are the reference's.
logaddexp = kit.op(
    "logaddexp",
    library=library,
    signature="(),()->()",
    outputs=("z",),
    dtypes=("float32", "float64"),
    reference=lambda x, y: jnp.logaddexp(x, y),
)

# Either operand may be a weight that rows share.
matvec = kit.op(
    "matvec",
    library=library,
    signature="(m,n),(n)->(m)",
    dtypes=("float32",),
    operands={"a": kit.Operand(row_sums=True), "x": kit.Operand(row_sums=True)},
    reference=lambda a, x: a @ x,
)

# The handlers take matrices as BLAS and LAPACK do: columns are contiguous.
matmul = kit.op(
    "matmul",
    library=library,
    signature="(m,n),(n,k)->(m,k)",
    dtypes=("float32",),
    outputs=("c",),
    operands={"b": kit.Operand(row_sums=True)},
    buffers=kit.Buffers(column_major=("a", "b", "c")),
    reference=lambda a, b: a @ b,
)

# A handler that binds a matrix, and no array of more axes.
trace = kit.op(
    "trace",
    library=library,
    signature="(n,n)->()",
    dtypes=("float32",),
    buffers=kit.Buffers(most_loops=0),
    reference=jnp.trace,
)

# An integer operand, which has no derivatives.
take = kit.op(
    "take",
    library=library,
    signature="(n),(k)->(k)",
    dtypes={"x": ("float32",), "indices": ("int32",)},
    reference=lambda x, indices: jnp.take(x, indices, mode="clip"),
)

# Two results that callers see, one of them an integer.
max_and_index = kit.op(
    "max",
    library=library,
    signature="(n)->(),()",
    outputs=("value", "index"),
    dtypes=kit.FLOATING,
    results=kit.Results(dtypes=lambda x: (x.dtype, np.int32)),
    reference=lambda x: (jnp.max(x), jnp.argmax(x).astype(np.int32)),
)

# Without a reference: no derivatives, and no other platforms.
sort = kit.op(
    "sort",
    library=library,
    signature="(n)->(n)",
    dtypes=("float64",),
    operands=("x",),
)

# An operand in the middle that calls may leave out.
affine = kit.op(
    "affine",
    library=library,
    signature="(n),(n)?,(n)->(n)",
    dtypes=("float32",),
    operands={
        "x": kit.Operand(row_sums=True),
        "w": kit.Operand(row_sums=True),
        "b": kit.Operand(row_sums=True),
    },
    reference=lambda x, w, b: (x if w is None else x * w) + b,
)

# Of handlers that take all operands in the same shape.
product = kit.op(
    "product",
    library=library,
    signature="(n),(n)->(n)",
    dtypes=("float32",),
    reference=lambda x, w: x * w,
    buffers=kit.Buffers(broadcast_operands=True),
)

# The same for weights, one of which is not kept.
product_sum = kit.op(
    "product_sum",
    library=library,
    signature="(n),(n),(n)->(n)",
    dtypes=("float32",),
    reference=lambda x, w, b: x * w + b,
    operands={
        "w": kit.Operand(parameter=True),
        "b": kit.Operand(parameter=True),
    },
    derivatives=kit.Derivatives(backward=lambda x, w, dy: (dy * w, dy * x, dy)),
    buffers=kit.Buffers(broadcast_operands=True),
)

# Any axis, and a transpose that is the op again.
cumsum = kit.op(
    "cumsum",
    library=library,
    signature="(n,*)->(n,*)",
    dtypes=("float32", "float64"),
    attributes={"reverse": np.bool_},
    reference=lambda x, *, reverse: jax.lax.cumsum(x, reverse=reverse),
    derivatives=kit.Derivatives(
        transpose=lambda dy, *, reverse: cumsum(dy, reverse=not reverse)
    ),
)


def _histogram(x, edges, *, bins):
  part = (x - edges[0]) / (edges[-1] - edges[0])
  found = jnp.floor(part * bins)[:, None] == jnp.arange(bins)
  return jnp.sum(found, 0, dtype=np.int32)


# A result dimension that no operand has; and no derivatives.
histogram = kit.op(
    "histogram",
    library=library,
    signature="(n),(e)->(bins)",
    dtypes=("float32",),
    attributes={"bins": np.int64},
    reference=_histogram,
)


def _top_k(x, *, k):
  indices = jnp.argsort(-x)[:k].astype(np.int32)
  return x[indices], indices


# Forward mode by a rule that keeps a result instead of the operand.
top_k = kit.op(
    "top_k",
    library=library,
    signature="(n)->(k),(k)",
    dtypes=("float32",),
    attributes={"k": kit.Attribute(np.int64, minimum=0)},
    outputs=("values", "indices"),
    reference=_top_k,
    derivatives=kit.Derivatives(
        jvp=lambda indices, x_dot, *, k: x_dot[indices]
    ),
)


def _add_sin(name):
  def backward(s, dy, ds):
    gradient = dy * jnp.cos(s) + ds
    return gradient, gradient

  return kit.op(
      name,
      library=library,
      signature="(),()->(),()",
      dtypes=("float32",),
      outputs=("y", "s"),
      reference=lambda a, b: (jnp.sin(a + b), a + b),
      derivatives=kit.Derivatives(residuals=("s",), backward=backward),
  )


# A residual that callers see is kept instead of the operands.
add_sin = _add_sin("add_sin")
add_sin_by_rule = _add_sin("add_sin_by_rule")

# A handler that is not worth calling for short rows.
choosy = kit.op(
    "choosy",
    library=library,
    signature="(n),(n)->(n)",
    dtypes=("float32",),
    reference=lambda x, w: x * w,
    operands={"w": kit.Operand(parameter=True)},
    choice=kit.Choice(
        is_faster=lambda x, w, *, platform, backward: x.shape[-1] >= 4
    ),
)


def _polynomial(x, *, coefficients, form, lowest, negated, scale):
  powers = x ** (lowest + np.arange(len(coefficients)))
  value = scale * jnp.sum(coefficients.astype(x.dtype) * powers)
  value = (-value if negated else value).astype(x.dtype)
  return 1 / (1 + value * value) if form == "bell" else value


# Attributes of all kinds.
polynomial = kit.op(
    "polynomial",
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
