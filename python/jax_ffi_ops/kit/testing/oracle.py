# SPDX-License-Identifier: Apache-2.0
"""The definition of an op, in high precision and under transformations."""

from collections.abc import Callable, Sequence
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.testing import devices


def as_tuple(results: Any) -> tuple[Any, ...]:
  return tuple(results) if isinstance(results, (tuple, list)) else (results,)


class Oracle:
  """A reference, mapped over loop dimensions by jax.vmap and nothing else."""

  def __init__(
      self,
      reference: Callable[..., Any],
      core_ranks: Sequence[int],
      trailing: int = 0,
  ):
    self._reference = reference
    self._core_ranks = core_ranks
    self._trailing = trailing
    self._programs = {}

  def function(self, *operands: Any) -> tuple[jax.Array, ...]:
    """Calls the reference; all results, as a tuple."""
    loops = [jnp.ndim(x) - rank for x, rank in zip(operands, self._core_ranks)]
    if not any(loops):
      return as_tuple(self._reference(*operands))
    # The leading ones are first, and outermost.
    axis = 0 if max(loops) > self._trailing else -1
    axes = [axis if rank else None for rank in loops]
    return jax.vmap(self.function, axes, axis)(*operands)

  def __call__(self, transform: Callable[..., Any], *args: Any) -> list:
    """Returns the arrays of `transform(function)(*args)`, in high precision."""
    with jax.enable_x64(True), devices.on_cpu():
      program = self._programs.get(transform)
      if program is None:
        program = jax.jit(transform(self.function))
        self._programs[transform] = program
      results = program(*jax.tree.map(_widen, args))
    return [np.asarray(x) for x in jax.tree.leaves(results)]

  def over_rows(
      self, transform: Callable[..., Any], loops: Sequence[int], *args: Any
  ) -> list:
    """Likewise, where all arrays begin with the same loops.

    These become one, whose size is one of a few: so are the programs.
    """
    count = math.prod(loops)
    more = (1 << max(6, (count - 1).bit_length())) - count

    def flat(x):
      x = x.reshape((count, *x.shape[len(loops) :]))
      return np.pad(x, [(0, more)] + [(0, 0)] * (x.ndim - 1))

    results = self(transform, *jax.tree.map(flat, args))
    return [x[:count].reshape((*loops, *x.shape[1:])) for x in results]


def _widen(x):
  if jnp.issubdtype(x.dtype, jnp.complexfloating):
    return x.astype(np.complex128)
  if jnp.issubdtype(x.dtype, jnp.floating):
    return x.astype(np.float64)
  return x
