# SPDX-License-Identifier: Apache-2.0
"""The ops that are compared with others: `CASE` of ops/<op>.py."""

import importlib.util
import pathlib
import sys

from jax_ffi_ops.timing.case import Timed

_FOLDER = pathlib.Path(__file__).with_name("ops")


def names() -> list[str]:
  """Returns the ops that have a file."""
  return sorted(file.stem for file in _FOLDER.glob("*.py"))


def load(name: str) -> Timed:
  """Returns the case of an op, with all peers."""
  spec = importlib.util.spec_from_file_location(
      f"benchmark_of_{name}", _FOLDER / f"{name}.py"
  )
  module = importlib.util.module_from_spec(spec)
  # torch.compile imports the module of a function that has global variables.
  sys.modules[spec.name] = module
  spec.loader.exec_module(module)
  return module.CASE
