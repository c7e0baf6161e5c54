# SPDX-License-Identifier: Apache-2.0
"""The case of an op's own test, for other tests that need its definition."""

import pathlib
import runpy

from jax_ffi_ops.kit.testing import Case


def own_case(op: str) -> Case:
  path = pathlib.Path(__file__).with_name(op) / f"{op}_test.py"
  found = (getattr(x, "case", None) for x in runpy.run_path(str(path)).values())
  return next(x for x in found if isinstance(x, Case))
