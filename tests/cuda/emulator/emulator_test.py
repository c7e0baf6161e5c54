# SPDX-License-Identifier: Apache-2.0
"""The emulator runs a right kernel, and finds what is wrong with others."""

import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np

from jax_ffi_ops import kit

_TARGET = "emulated_faults"
_LIBRARY = kit.Library(os.environ["EMULATED"])
_X = np.arange(128, dtype=np.float32).reshape(2, 64)

# The enumeration of faults_ffi.cc, with the errors' messages: those of some
# orders of the threads alone, and those of all.
_NONE, _NO_BARRIER = 0, 1
_ERRORS_OF_SOME = {
    2: "a barrier before its Init()",
    3: "a block of the cluster has ended",
}
_ERRORS = {
    4: "threads wait for others that do not come",
    5: "threads wait for others that do not come",
    6: "threads wait for others that do not come",
    7: "threads wait for different things",
    8: "a block wrote behind its shared memory",
    9: "a block has no such shared memory",
    10: "no device can run the launch",
}

# What jax raises is one or the other, as a call fails soon or late.
_FAILURE = (jax.errors.JaxRuntimeError, ValueError)

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

  def setUp(self):
    super().setUp()
    self.enter_context(mock.patch.dict(os.environ, EMULATED_DEVICE="1"))

  def test_right_kernel(self):
    for _ in range(10):
      np.testing.assert_array_equal(_call(_X, fault=_NONE), _expected())

  def test_value_that_nobody_waits_for_is_missing(self):
    self.assertTrue(np.isnan(_call(_X, fault=_NO_BARRIER)).any())

  @parameterized.parameters(*_ERRORS_OF_SOME.items())
  def test_error_of_some_orders(self, fault, message):
    errors = []
    for _ in range(30):
      try:
        _call(_X, fault=fault).block_until_ready()
      except _FAILURE as error:
        errors.append(str(error))
    self.assertTrue(any(message in error for error in errors))

  def test_device_without_clusters(self):
    with mock.patch.dict(os.environ, EMULATED_DEVICE="0"):
      with self.assertRaisesRegex(
          _FAILURE, "the device has no clusters of that size"
      ):
        _call(_X, fault=_NONE).block_until_ready()

  @parameterized.parameters(*_ERRORS.items())
  def test_error(self, fault, message):
    for _ in range(10):
      with self.assertRaisesRegex(
          _FAILURE, f"faults: FaultsKernel: .*{message}"
      ):
        _call(_X, fault=fault).block_until_ready()
    np.testing.assert_array_equal(_call(_X, fault=_NONE), _expected())


if __name__ == "__main__":
  absltest.main()
