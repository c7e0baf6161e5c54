# SPDX-License-Identifier: Apache-2.0
"""The cores that the build compiled an op for, if it wrote its handlers."""

from collections.abc import Mapping, Sequence
import json
import pathlib
from typing import Any

import numpy as np


class Cores:
  """A list of cores: shapes and dtypes of operands without loop dimensions."""

  def __init__(self, compiled: Sequence[Mapping[str, Any]]):
    # None stands for any size.
    self._compiled = [
        [(np.dtype(dtype), tuple(core)) for dtype, core in x["operands"]]
        for x in compiled
    ]

  def has(self, operands: Sequence[tuple[tuple[Any, ...], np.dtype]]) -> bool:
    """Returns whether there is a kernel for cores of these shapes and dtypes."""
    return any(
        all(
            dtype == own and _fits(shape, core)
            for (shape, dtype), (own, core) in zip(operands, kernel)
        )
        for kernel in self._compiled
    )

  @classmethod
  def of(cls, library: str, target: str) -> "Cores | None":
    """Returns those of an op, from the file that is beside its library.

    None if the build did not write the op's handlers: they take any core.

    Args:
      library: the path of the shared object.
      target: the op's FFI target, without "_fwd".
    """
    path = pathlib.Path(library).with_suffix(".cores.json")
    if not path.is_file():
      return None
    compiled = json.loads(path.read_text()).get(target)
    return None if compiled is None else cls(compiled)


def _fits(shape, core):
  return len(shape) == len(core) and all(
      size is None or n == size for n, size in zip(shape, core)
  )
