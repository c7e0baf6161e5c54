# SPDX-License-Identifier: Apache-2.0
"""rms_norm with its CUDA handlers, under every transformation."""

import os
import unittest
from unittest import mock

from absl.testing import absltest

from jax_ffi_ops import kit
from jax_ffi_ops.kit import lowering
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.op import find
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand

_LIBRARY = kit.Library(os.environ["EMULATED"])


def _emulated(name, signature):
  """Declares an op once more, with handlers that the emulator runs."""
  declared = find(name).declaration
  return kit.op(
      "emulated_" + name,
      library=_LIBRARY,
      signature=signature,
      parameters=declared.parameters,
      results=declared.results,
      residuals=declared.residuals,
      attributes=declared.attributes,
      reference=declared.reference,
      workspace=declared.workspace,
  )


_SCALED = _emulated("xla_ffi_ops_rms_norm", "(d),(d)->(d),()")
_UNSCALED = _emulated("xla_ffi_ops_rms_norm_unscaled", "(d)->(d),()")


def setUpModule():
  patch = mock.patch.object(lowering, "_WORKSPACE_PLATFORMS", ("cpu", "cuda"))
  patch.start()
  unittest.addModuleCleanup(patch.stop)


class ScaledTest(testing.ConformanceTest):
  case = Case(
      _SCALED, [Operand((16,)), Operand((16,))], attributes={"eps": 0.25}
  )


class UnscaledTest(testing.ConformanceTest):
  case = Case(_UNSCALED, [Operand((16,))], attributes={"eps": 0.25})


if __name__ == "__main__":
  absltest.main()
