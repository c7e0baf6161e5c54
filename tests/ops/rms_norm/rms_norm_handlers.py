# SPDX-License-Identifier: Apache-2.0
"""Right calls of the handlers of rms_norm, whose results are checked."""

import ffi_calls
import jax
import numpy as np
import rms_norm_oracle as oracle
from rms_norm_oracle import Expected
from rms_norm_oracle import normal

_EPS = 0.5


def rstd_of(shape, dtype="float32"):
  """Returns what a backward handler may get for the rows of x of `dtype`."""
  return np.abs(normal(shape, oracle.accumulator(dtype), seed=3)) + 0.1


class Handlers:
  """The four handlers, whose targets' names all begin alike.

  Attributes:
    prefix: that beginning.
    workspaces: function of a target, operands and results: see ffi_calls.
  """

  def __init__(
      self, prefix="xla_ffi_ops_rms_norm_", workspaces=ffi_calls.workspaces
  ):
    self.prefix = prefix
    self.workspaces = workspaces

  def check_forward(self, x, *scales):
    """Checks the forward handlers, of which the unscaled has no scale."""
    y = oracle.forward(x, *scales, eps=_EPS)
    rstd, error = oracle.rstd(x, _EPS)
    rstd = np.broadcast_to(rstd, y.value.shape[:-1])
    self._check(
        "fwd" if scales else "unscaled_fwd",
        (x, *scales),
        (y, Expected(rstd, rstd * error)),
        (x.dtype, oracle.accumulator(x.dtype)),
    )

  def check_backward(self, x, *scales, rstd, dy, batch_rank=0):
    """Checks the backward handlers; dscale is summed over what scale lacks."""
    operands = x, *scales, rstd, dy
    ranks = [operand.ndim - 1 for operand in (x, *scales, dy)]
    loop_rank = max(rstd.ndim, *ranks)

    def in_rows(array, core_rank):
      own = array.ndim - core_rank
      missing = (1,) * (loop_rank - own)
      return array.reshape(array.shape[:own] + missing + array.shape[own:])

    shared = scales and scales[0].ndim - 1 in (0, batch_rank)
    dx, dscale = oracle.backward(
        in_rows(x, 1),
        in_rows(scales[0], 1) if scales else None,
        in_rows(rstd, 0),
        in_rows(dy, 1),
        summed=range(batch_rank, loop_rank) if shared else (),
    )
    self._check(
        "bwd" if scales else "unscaled_bwd",
        operands,
        (dx, dscale) if scales else (dx,),
        [x.dtype, *(scale.dtype for scale in scales)],
        batch_rank=np.int64(batch_rank),
    )

  def _check(self, name, operands, expected, dtypes, **attributes):
    target = self.prefix + name
    results = [
        jax.ShapeDtypeStruct(result.value.shape, dtype)
        for result, dtype in zip(expected, dtypes)
    ]
    results += self.workspaces(target, operands, results)
    call = jax.ffi.ffi_call(target, results)
    actual = call(*operands, eps=np.float64(_EPS), **attributes)
    for result, array in zip(expected, actual):
      result.check(array)
