# SPDX-License-Identifier: Apache-2.0
"""The emulator runs a right kernel, and finds what is wrong with others."""

import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np

from jax_ffi_ops import kit

_TARGET = "emulated_faults"
_LIBRARY = kit.Library(pathlib.Path(os.environ["EMULATED"]).resolve())
_X = np.arange(128, dtype=np.float32).reshape(2, 64)

# The enumeration of faults_ffi.cc, with the errors' messages.
_NONE, _NO_BARRIER, _NO_CLUSTER_BARRIER = 0, 1, 2
_ERRORS = {
    3: "threads wait for others that do not come",
    4: "threads wait for others that do not come",
    5: "threads wait for others that do not come",
    6: "a block wrote behind its shared memory",
    7: "no device can run the launch",
}

_call = kit.call(
    _TARGET,
    library=_LIBRARY,
    results=lambda x, **_: jax.ShapeDtypeStruct(x.shape, x.dtype),
    attributes={"fault": np.int64},
)


def _expected():
  values = _X[:, ::-1]
  values = values + values.reshape(2, 32, 2)[:, :, ::-1].reshape(2, 64)
  return values + _X[::-1, :1]


class EmulatorTest(parameterized.TestCase):

  def test_right_kernel(self):
    for _ in range(10):
      np.testing.assert_array_equal(_call(_X, fault=_NONE), _expected())

  def test_value_that_nobody_waits_for_is_missing(self):
    self.assertTrue(np.isnan(_call(_X, fault=_NO_BARRIER)).any())

  def test_cluster_that_does_not_wait_for_init(self):
    """Only if a block sends before the other one has begun."""
    errors = []
    for _ in range(30):
      try:
        _call(_X, fault=_NO_CLUSTER_BARRIER).block_until_ready()
      except jax.errors.JaxRuntimeError as error:
        errors.append(str(error))
    self.assertNotEmpty(errors)
    self.assertContainsSubset({"before its Init()"}, {e[-17:] for e in errors})

  @parameterized.parameters(*_ERRORS.items())
  def test_error(self, fault, message):
    for _ in range(10):
      with self.assertRaisesRegex(
          jax.errors.JaxRuntimeError, f"faults: FaultsKernel: .*{message}"
      ):
        _call(_X, fault=fault).block_until_ready()
    np.testing.assert_array_equal(_call(_X, fault=_NONE), _expected())


if __name__ == "__main__":
  absltest.main()
