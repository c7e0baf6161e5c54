# SPDX-License-Identifier: Apache-2.0
"""The cores that the build compiled an op for, if it wrote its handlers."""

from collections.abc import Mapping, Sequence
import json
import math
import pathlib
from typing import Any, NamedTuple

import numpy as np


class Core(NamedTuple):
  """What handlers were compiled for.

  Attributes:
    operands: dtypes, and shapes without loop dimensions; None is any size.
    attributes: their values.
    least_rows: the rows of a call from which on the forward and the backward
      handler are faster than the reference.
  """

  operands: Sequence[tuple[np.dtype, tuple[int | None, ...]]]
  attributes: Mapping[str, Any]
  least_rows: tuple[float, float]

  @classmethod
  def of(cls, found: Mapping[str, Any]) -> "Core":
    operands = [(np.dtype(dtype), tuple(x)) for dtype, x in found["operands"]]
    least = [math.inf if n is None else n for n in found["least_rows"]]
    return cls(operands, found["attributes"], tuple(least))


class Cores:
  """The list of them, of an op whose handlers the build wrote."""

  def __init__(self, compiled: Sequence[Mapping[str, Any]]):
    self._compiled = list(map(Core.of, compiled))

  def find(
      self,
      operands: Sequence[tuple[tuple[Any, ...], np.dtype]],
      attributes: Mapping[str, Any],
  ) -> Core | None:
    """Returns what serves cores of these shapes and dtypes, if anything does."""
    for core in self._compiled:
      if _exact(core.attributes) == _exact(attributes) and all(
          dtype == own and _fits(shape, sizes)
          for (shape, dtype), (own, sizes) in zip(operands, core.operands)
      ):
        return core
    return None

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


def _exact(attributes):
  return {name: repr(x) for name, x in attributes.items()}  # -0.0 is not 0.0.


def _fits(shape, core):
  return len(shape) == len(core) and all(
      size is None or n == size for n, size in zip(shape, core)
  )
