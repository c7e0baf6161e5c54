# SPDX-License-Identifier: Apache-2.0
"""Exponentials and powers of matrices."""

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.linalg import lu
from jax_ffi_ops.linalg import operands
from jax_ffi_ops.linalg import small_product


def _reference(a, *, max_squarings):
  return jax.scipy.linalg.expm(a, max_squarings=max_squarings)


_expm = kit.op(
    "expm",
    library=operands.LIBRARY,
    signature="(n,n)->(n,n)",
    attributes={"max_squarings": np.int64},
    reference=_reference,
    dtypes=operands.REAL,
    outputs=("y",),
    # One lane of many is slower than products of XLA's.
    choice=operands.choice({20: 2}),
)


@operands.public(_expm)
def expm(
    A: jax.Array, *, upper_triangular: bool = False, max_squarings: int = 16
) -> jax.Array:
  """Exponentials of matrices, in place of jax.scipy.linalg.expm.

  Lanes of vectors compute a matrix each, by scaling and squaring of Pade
  approximants (Higham, SIAM J. Matrix Anal. Appl. 26, 2005), of degree 7 in
  float32 and 13 in float64. Gradients are those of the approximants, scaled and
  squared alike (Al-Mohy and Higham, SIAM J. Matrix Anal. Appl. 30, 2009). jax
  computes calls with more than 32 rows, other dtypes, `upper_triangular`, and
  platforms without a handler.

  Args:
    A: the matrices, [..., n, n].
    upper_triangular: whether only the upper triangles are not 0.
    max_squarings: a matrix that needs more squarings has NaN for its result.

  Returns:
    The exponentials, of the shape of `A`.

  Raises:
    TypeError, ValueError: as jax.scipy.linalg.expm.
  """
  found = operands.square(A, operands.REAL)
  is_served = (
      operands.are_flags(upper_triangular)
      and not upper_triangular
      and type(max_squarings) is int
  )
  if found is None or not is_served or max_squarings < 0:
    return jax.scipy.linalg.expm(
        A, upper_triangular=upper_triangular, max_squarings=max_squarings
    )
  return _expm(found, max_squarings=max_squarings)


@operands.public(*kit.ops_of(small_product.product), *kit.ops_of(lu.inv))
def matrix_power(a: jax.Array, n: int) -> jax.Array:
  """Integer powers of matrices, in place of jax.numpy.linalg.matrix_power.

  They are products of squares; negative powers are those of the inverse. jax
  computes matrices with more than 32 rows, of integers, and the power 0.

  Args:
    a: the matrices, [..., m, m].
    n: the power.

  Returns:
    The powers, of the shape of `a`.

  Raises:
    TypeError, ValueError: as jax.numpy.linalg.matrix_power.
  """
  square = operands.square(a)
  is_served = square is not None and square.dtype == a.dtype
  if not is_served or not isinstance(n, int | np.integer) or n == 0:
    return jnp.linalg.matrix_power(a, n)
  n = int(n)
  if n < 0:
    square, n = lu.inv(square), -n
  power = None
  while True:
    if n % 2:
      power = square if power is None else small_product.product(power, square)
    n //= 2
    if n == 0:
      return power
    square = small_product.product(square, square)
