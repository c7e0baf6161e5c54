# SPDX-License-Identifier: Apache-2.0
"""The cores that the build compiled an op for, if it wrote its handlers."""

from collections.abc import Mapping, Sequence
import json
import math
import numbers
import pathlib
from typing import Any, NamedTuple

import numpy as np

from jax_ffi_ops.kit import _jax


class NotCompiledWarning(UserWarning):
  """JAX runs what should have been compiled."""


class Core(NamedTuple):
  """What handlers were compiled for.

  Attributes:
    operands: dtypes, and shapes without loop dimensions; None is any size
      from 1 on, as jax has it for a size that it does not know.
    attributes: their values.
    least_rows: the rows of a call from which on the forward and the backward
      handler are faster than the reference.
    refusal: why there is no handler for the pass in question, if there is none.
  """

  operands: Sequence[tuple[np.dtype, tuple[int | None, ...]]]
  attributes: Mapping[str, Any]
  least_rows: tuple[float, float]
  refusal: str = ""

  @classmethod
  def of(cls, found: Any) -> "Core":
    """Returns what the build wrote; TypeError or ValueError if it did not."""
    operands = [
        (np.dtype(dtype), tuple(sizes))
        for dtype, sizes in _field(found, "operands", list)
    ]
    forward, backward = map(_rows, _field(found, "least_rows", list))
    attributes = _field(found, "attributes", dict)
    return cls(operands, attributes, (forward, backward))


class Cores:
  """The list of them, of an op whose handlers the build wrote."""

  def __init__(self, compiled: Sequence[Any]):
    self._compiled = list(map(Core.of, compiled))

  def find(
      self,
      operands: Sequence[tuple[tuple[Any, ...], np.dtype]],
      attributes: Mapping[str, Any],
      backward: bool,
  ) -> Core | None:
    """Returns what serves cores of these shapes and dtypes, if anything does."""
    del backward  # The build compiles both passes, or none.
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

    Raises:
      ImportError: the file is not as the build writes it.
    """
    path = pathlib.Path(library).with_suffix(".cores.json")
    if not path.is_file():
      return None
    try:
      found = json.loads(path.read_text())
      if found and isinstance(found, dict) and target not in found:
        return None  # It is about another op of the library.
      return cls(_field(found, target, list))
    except (TypeError, ValueError) as error:
      raise ImportError(
          f"{str(path)!r}, the list of cores that {library!r} was compiled for,"
          f" cannot be read: {error}. Build both again."
      ) from error


def _rows(found):
  if found is None:  # Never.
    return math.inf
  if not isinstance(found, numbers.Real):
    raise TypeError(f"{found!r} is no number of rows")
  return found


def _field(found, name, kind):
  if not isinstance(found, dict):
    raise TypeError(f"expected a mapping with {name!r}, got {found!r}")
  if name not in found:
    raise ValueError(f"{name!r} is missing in {found}")
  if not isinstance(found[name], kind):
    raise TypeError(f"{name!r} must be a {kind.__name__}, got {found[name]!r}")
  return found[name]


def _exact(attributes):
  return {name: repr(x) for name, x in attributes.items()}  # -0.0 is not 0.0.


def _fits(shape, core):
  return len(shape) == len(core) and all(
      is_positive(n) if size is None else n == size
      for n, size in zip(shape, core)
  )


def is_positive(size: Any) -> bool:
  """Returns whether a size is known to be 1 or more."""
  try:
    return size > 0
  except _jax.InconclusiveSize:  # jax cannot tell it of n - 1.
    return False
