# SPDX-License-Identifier: Apache-2.0
"""The own tests of the op OP, with its CUDA handlers in the emulator."""

import importlib
import importlib.util
import os
import pathlib
from unittest import mock

from absl.testing import absltest

from jax_ffi_ops import kit
from jax_ffi_ops.ops.common import libraries

_OP = os.environ["OP"]


def _load():
  """Imports the op with emulated handlers, and then its tests."""
  beside = libraries.beside

  def emulated(module):
    if pathlib.Path(module).stem != _OP:
      return beside(module)
    return kit.Library(os.environ["EMULATED"], prefix="emulated_xla_ffi_ops_")

  with mock.patch.object(libraries, "beside", emulated):
    importlib.import_module("jax_ffi_ops.ops." + _OP)
  spec = importlib.util.spec_from_file_location(
      _OP + "_test", os.environ["OWN_TEST"]
  )
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return {
      name: value
      for name, value in vars(module).items()
      if isinstance(value, type) and issubclass(value, absltest.TestCase)
  }


globals().update(_load())

if __name__ == "__main__":
  absltest.main()
