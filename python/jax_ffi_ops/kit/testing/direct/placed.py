# SPDX-License-Identifier: Apache-2.0
"""Arrays for direct calls: they begin anywhere, and have room around them."""

from collections.abc import Sequence
import math
from typing import Any

import numpy as np

_ALIGNMENT = 64  # of what XLA allocates
_ROOM = 4096
_MOST = 1 << 20


class OverrunError(AssertionError):
  """A handler has written beside a buffer."""


class Placed:
  """A new array with room around it.

  A handler that takes it for a larger one is to be reported: it should not end
  the process. All bits are 1, a NaN, until something is written.

  Attributes:
    array: see above.
  """

  def __init__(
      self, shape: tuple[int, ...], dtype: Any, shift: int, order: Sequence[int]
  ):
    """Makes an array that begins `shift` elements after an aligned address.

    Args:
      shape: of the array.
      dtype: likewise.
      shift: see above.
      order: its axes, the one of the largest stride first.
    """
    width = np.dtype(dtype).itemsize
    size = math.prod(shape) * width
    room = _ROOM + min(16 * size, _MOST)
    self._memory = np.full(2 * _ROOM + size + room, 0xFF, np.uint8)
    start = _ROOM + -self._memory.ctypes.data % _ALIGNMENT + shift * width
    self._before = self._memory[:start]
    self._behind = self._memory[start + size :]
    own = self._memory[start : start + size]
    in_memory = own.view(dtype).reshape([shape[axis] for axis in order])
    self.array = in_memory.transpose(np.argsort(order))

  def check(self, name: str) -> None:
    """Raises OverrunError if the room is not what it was."""
    for side, room in (("before", self._before), ("behind", self._behind)):
      if room.min() != 0xFF:
        raise OverrunError(f"it writes {side} {name}")
