# SPDX-License-Identifier: Apache-2.0
"""What `benchmark(save=True)` found out, for this and for later processes."""

import json
import os
import tempfile

import jax

from jax_ffi_ops.kit import cpu
from jax_ffi_ops.kit.toolchain import cache
from jax_ffi_ops.kit.toolchain import folders

LeastRows = tuple[float, float]


def save(op: str, least_rows: LeastRows) -> None:
  """Writes an answer beside what is compiled.

  Args:
    op: its name, which has a hash of what it computes.
    least_rows: of its forward and its backward pass.

  Raises:
    OSError: it cannot be written, or others could change it.
  """
  folder = folders.standard()
  with cache.Cache(folder).making() as made:
    with tempfile.NamedTemporaryFile("w", dir=made, delete=False) as file:
      json.dump(least_rows, file)
    os.replace(file.name, os.path.join(folder, _name(op)))


def find(op: str) -> LeastRows | None:
  """Returns the answer for an op, or None."""
  try:
    path = os.path.join(folders.standard(), _name(op))
    flags = os.O_RDONLY | os.O_NOFOLLOW
    with open(os.open(path, flags), encoding="utf-8") as file:
      folders.check_file(os.fstat(file.fileno()), path)
      forward, backward = json.load(file)
    return forward + 0, backward + 0
  except (
      OSError,
      ValueError,
      TypeError,
  ):  # There is none, or nothing reads it.
    return None


def _name(op):
  # An older jax may be faster, and so may an older level.
  return f"{op}-{jax.__version__}-level{cpu.cpu_level()}.json"
