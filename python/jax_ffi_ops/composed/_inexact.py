# SPDX-License-Identifier: Apache-2.0
"""Arrays of the floating-point dtype in which jax.numpy computes."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def dtype(*arrays: Any) -> np.dtype:
  """Returns the floating-point dtype that jax.numpy converts arrays to."""
  one = jax.ShapeDtypeStruct((), jnp.result_type(*arrays))
  return jax.eval_shape(jnp.true_divide, one, one).dtype


def arrays(*given: Any) -> list[jax.Array]:
  """Returns what a user gave as arrays of one floating-point dtype.

  As in jax.numpy, they are arrays of jax first, and floating-point then. So
  masked arrays are refused, and without x64, integers have 32 bits. (With a
  dtype, jnp.asarray would have NumPy convert them, and drop the masks.)

  Raises:
    ValueError: one is a masked array.
  """
  own = [jnp.asarray(x) for x in given]
  wanted = dtype(*own)
  return [x.astype(wanted) for x in own]
