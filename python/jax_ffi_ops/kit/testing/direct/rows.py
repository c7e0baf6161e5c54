# SPDX-License-Identifier: Apache-2.0
"""Arrays of a direct call with all of their loops in front."""

import math

import numpy as np

from jax_ffi_ops.kit.testing.direct.contract import Target
from jax_ffi_ops.kit.testing.direct.frames import Buffer
from jax_ffi_ops.kit.testing.direct.frames import Frame


class Rows:
  """The loops of a call, brought to the front of its arrays: leading, trailing.

  They are there in full or as 1; `loops` has them in full.
  """

  def __init__(self, target: Target, frame: Frame):
    self.target = target
    self._frame = frame
    self._dims = target.dimensions(frame)
    self._lead = len(self._dims.leading)
    self._trail = len(self._dims.trailing)
    self.loops = (*self._dims.leading, *self._dims.trailing)
    self._batch = int(frame.attributes.get("batch_rank", self._lead))

  def visible_results(self) -> list[tuple[str, Buffer]]:
    return [
        (name, b)
        for name, b in self._frame.results.items()
        if not name.endswith("_workspace")
    ]

  def _core_rank(self, name):
    axes = self.target.call.op.axes
    if self.target.is_backward and name in self._frame.results:
      name = name[1:]
    return len(axes[name][0])

  def of(self, name: str, x: np.ndarray) -> np.ndarray:
    core = self._core_rank(name)
    rank = x.ndim - core
    if rank == self._lead + self._trail and self._trail:
      source = range(x.ndim - self._trail, x.ndim)
      return np.moveaxis(x, source, range(self._lead, rank))
    own = x.shape[:rank]
    missing = (1,) * (self._lead + self._trail - rank)
    return x.reshape((*own, *missing, *x.shape[rank:]))

  def full(self, name: str, x: np.ndarray) -> np.ndarray:
    """Returns an array with all loops in full, its core the last axes."""
    core = self._core_rank(name)
    return np.broadcast_to(x, (*self.loops, *x.shape[x.ndim - core :]))

  def is_shared(self, name: str) -> bool:
    """Returns whether a gradient is the sum over rows."""
    if not self.target.is_backward:
      return False
    rank = len(self._frame.results[name].shape) - self._core_rank(name)
    return rank < len(self.loops)

  def flat(self, x: np.ndarray) -> np.ndarray:
    """Returns [groups..., core..., rows] of an array with all loops."""
    core = x.shape[len(self.loops) :]
    groups = self.loops[: self._batch]
    rows = math.prod(self.loops[self._batch :])
    return np.moveaxis(x.reshape((*groups, rows, *core)), len(groups), -1)

  def result(self, name: str, x: np.ndarray) -> np.ndarray:
    """Returns a result, summed if it has to be, as the target returns it."""
    if self.is_shared(name):
      return x
    x = self.full(name, x)
    loops = len(self.loops)
    last = range(x.ndim - self._trail, x.ndim)
    return np.moveaxis(x, range(self._lead, loops), last)
