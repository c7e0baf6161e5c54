# SPDX-License-Identifier: Apache-2.0
"""The floating-point dtype in which jax.numpy computes."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def dtype(*arrays: Any) -> np.dtype:
  """Returns the floating-point dtype that jax.numpy converts arrays to."""
  one = jax.ShapeDtypeStruct((), jnp.result_type(*arrays))
  return jax.eval_shape(jnp.true_divide, one, one).dtype
