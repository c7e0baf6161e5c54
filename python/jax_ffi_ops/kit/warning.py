# SPDX-License-Identifier: Apache-2.0
"""Warnings that name a line of the caller."""

import contextlib
import os
import pathlib
import sys
import warnings

import jax

# jax decorates functions with context managers. From Python 3.12 on, `warn` has
# skip_file_prefixes.
_NOT_CALLERS = (
    str(pathlib.Path(__file__).parents[1]) + os.sep,
    os.path.dirname(jax.__file__) + os.sep,
    contextlib.__file__,
)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
  """Warns at the innermost line that is neither here nor in jax."""
  frame = sys._getframe(1)
  while frame.f_back and frame.f_code.co_filename.startswith(_NOT_CALLERS):
    frame = frame.f_back
  module = frame.f_globals
  warnings.warn_explicit(
      message,
      category,
      frame.f_code.co_filename,
      frame.f_lineno,
      module.get("__name__"),
      module.setdefault("__warningregistry__", {}),
  )
