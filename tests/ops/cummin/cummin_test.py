# SPDX-License-Identifier: Apache-2.0
"""cummin: its definition."""

from absl.testing import absltest
import jax
import jax.numpy as jnp
import numpy as np
import scans

from jax_ffi_ops import cummin
from jax_ffi_ops.kit import testing


class CumMinTest(testing.OpTest):
  case = scans.extremum_case(cummin, np.minimum, jnp.argmin, jax.lax.cummin)


class RunningMinimaTest(scans.ExtremumTest):
  op = staticmethod(cummin)
  ufunc = np.minimum
  sign = -1


if __name__ == "__main__":
  absltest.main()
