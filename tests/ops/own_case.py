# SPDX-License-Identifier: Apache-2.0
"""An op's own test, for other tests that need it or its definition."""

import pathlib
import runpy

from jax_ffi_ops.kit import testing


def own_tests(op: str) -> list[type[testing.ConformanceTest]]:
  """Returns the classes of an op's test that have a case, the first one first."""
  path = pathlib.Path(__file__).with_name(op) / f"{op}_test.py"
  return [
      x
      for x in runpy.run_path(str(path)).values()
      if isinstance(getattr(x, "case", None), testing.Case)
  ]


def own_case(op: str) -> testing.Case:
  return own_tests(op)[0].case
