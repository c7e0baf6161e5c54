# SPDX-License-Identifier: Apache-2.0
"""Products of many small matrices, for the rules of other ops."""

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.linalg import operands


def _reference(a, b):
  return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST)


def _jvp(a, b, a_dot, b_dot):
  return (_product(b.mT, a_dot.mT).mT + _product(a, b_dot),)


def _transpose(a, dc):
  return (_product(a.mT, dc),)


def _is_faster(a, b, *, m, k, n, **_):
  # XLA is faster for a few matrices, for those up to 3x3, and for those beyond
  # 8x8, where memory limits.
  matrices = max(a.size // max(1, m * k), b.size // max(1, k * n))
  return matrices >= 8 and 27 < m * k * n <= 512


_product = kit.op(
    "small_product",
    library=operands.LIBRARY,
    signature="(m,k),(k,n)->(m,n)",
    reference=_reference,
    dtypes=operands.NUMBERS,
    outputs=("c",),
    derivatives=kit.Derivatives(jvp=_jvp, transpose=_transpose),
    choice=kit.Choice(
        use_handler=lambda *_, m, k, n, **__: max(m, k, n) <= operands.MOST,
        is_faster=_is_faster,
    ),
)


@operands.public(_product)
def product(a: jax.Array, b: jax.Array) -> jax.Array:
  """Multiplies matrices, [..., m, k] and [..., k, n], of one dtype.

  XLA multiplies a small matrix at a time; here, each lane of a vector has one.

  Args:
    a: the matrices on the left; float32, float64, complex64 or complex128.
    b: those on the right; leading axes broadcast.

  Returns:
    The products, [..., m, n].
  """
  batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
  return _product(
      *(
          jnp.broadcast_to(x, batch + x.shape[-2:]) if x.ndim > 2 else x
          for x in (a, b)
      )
  )
