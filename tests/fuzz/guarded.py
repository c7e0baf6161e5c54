# SPDX-License-Identifier: Apache-2.0
"""Memory for buffers, with pages around each that nobody may touch."""

import ctypes
import mmap
import os

import numpy as np

SIZE = 1 << 20  # of one buffer at most
_COUNT = 16
_GUARD = 1 << 20
_NONE, _FIXED = 0, 0x10  # PROT_NONE, MAP_FIXED

_mmap = ctypes.CDLL(None, use_errno=True).mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = (
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int),
    *(ctypes.c_int, ctypes.c_int, ctypes.c_long),
)


class Memory:
  """Places for buffers that handlers may read, or write as well.

  The memory is mapped twice: what handlers see, and what tests may write.
  """

  def __init__(self, protection: int):
    file = os.memfd_create("buffers")
    os.ftruncate(file, _COUNT * SIZE)
    self._own = np.frombuffer(mmap.mmap(file, _COUNT * SIZE), np.uint8)
    anonymous = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    total = _GUARD + _COUNT * (SIZE + _GUARD)
    start = _map(None, total, _NONE, anonymous, -1, 0)
    self._places = [
        _map(
            start + _GUARD + i * (SIZE + _GUARD), SIZE, protection,
            mmap.MAP_SHARED | _FIXED, file, i * SIZE,
        )
        for i in range(_COUNT)
    ]  # fmt: skip

  def place(
      self, index: int, size: int, at_end: bool
  ) -> tuple[int, np.ndarray]:
    """Returns the address of `size` bytes, and the same bytes for the test.

    Args:
      index: of the buffer.
      size: see above.
      at_end: whether the forbidden page is right behind them or right before.
    """
    offset = SIZE - size if at_end else 0
    first = index * SIZE + offset
    return self._places[index] + offset, self._own[first : first + size]


def _map(*args):
  address = _mmap(*args)
  if address in (None, ctypes.c_void_p(-1).value):
    raise OSError(ctypes.get_errno(), "mmap")
  return address
