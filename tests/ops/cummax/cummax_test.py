# SPDX-License-Identifier: Apache-2.0
"""cummax: its definition."""

from absl.testing import absltest
import jax
import jax.numpy as jnp
import numpy as np
import scans

from jax_ffi_ops import cummax
from jax_ffi_ops.kit import testing


class CumMaxTest(testing.OpTest):
  case = scans.extremum_case(cummax, np.maximum, jnp.argmax, jax.lax.cummax)


class RunningMaximaTest(scans.ExtremumTest):
  op = staticmethod(cummax)
  ufunc = np.maximum
  sign = 1


if __name__ == "__main__":
  absltest.main()
