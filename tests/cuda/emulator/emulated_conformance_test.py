# SPDX-License-Identifier: Apache-2.0
"""The op OP with its CUDA handlers, under every transformation."""

import dataclasses
import os
import unittest
from unittest import mock

from absl.testing import absltest

import jax_ffi_ops
from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.calls import workspaces
from jax_ffi_ops.kit.op import find
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand

_OP = os.environ["OP"]


def _emulated():
  """Declares the op once more, with handlers that the emulator runs."""
  getattr(jax_ffi_ops, _OP)  # Is loaded when it is first used.
  declared = find("xla_ffi_ops_" + _OP).declaration
  rules = declared.derivatives
  functions = {
      name: getattr(rules, name).function
      for name in ("jvp", "transpose", "backward")
      if getattr(rules, name)
  }
  return kit.op(
      declared.name,
      library=kit.Library(
          os.environ["EMULATED"], prefix="emulated_xla_ffi_ops_"
      ),
      signature=str(declared.signature),
      reference=declared.reference.function,
      operands={
          name: declared.roles.get(name, kit.Operand())
          for name in declared.slots
      },
      results=kit.Results(dtypes=declared.results.dtypes),
      outputs=declared.outputs,
      attributes=declared.attributes,
      dtypes=dict(zip(declared.slots, declared.dtypes)),
      derivatives=dataclasses.replace(rules, **functions),
      choice=declared.choice,
  )


def setUpModule():
  patch = mock.patch.object(workspaces, "PLATFORMS", ("cpu", "cuda"))
  patch.start()
  unittest.addModuleCleanup(patch.stop)


class EmulatedConformanceTest(testing.ConformanceTest):
  _op = _emulated()
  case = Case(
      _op,
      [Operand((16,)) for _ in _op.declaration.slots],
      attributes={"eps": 0.25} if _op.declaration.attributes else {},
  )


if __name__ == "__main__":
  absltest.main()
