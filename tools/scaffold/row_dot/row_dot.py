"""The op row_dot, (n),(n)->()."""

import pathlib

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit


def _reference(x0, x1):
  # Computed in a type that is wide enough, and rounded once.
  wide = kit.accumulator(x0.dtype)
  y = jnp.vdot(x0.astype(wide), x1.astype(wide), precision="highest")
  return y.astype(x0.dtype)


_row_dot = kit.op(
    "row_dot",
    library=kit.Library(pathlib.Path(__file__).with_name("librow_dot_ext.so")),
    signature="(n),(n)->()",
    reference=_reference,
    dtypes=kit.FLOATING,
)


@kit.public(_row_dot)
def row_dot(x0: jax.Array, x1: jax.Array) -> jax.Array:
  """Computes, for each index of the leading dimensions:

    y = sum over n of x0[n] * x1[n]

  Args:
    x0: of shape [..., n].
    x1: of shape [..., n].

  Returns:
    y: of shape [...].

  Raises:
    TypeError: x0 has no such dtype, or x1 another one.
    ValueError: the sizes of n differ, or the leading dimensions.
  """
  return _row_dot(x0, x1)
