# SPDX-License-Identifier: Apache-2.0
"""The definition of an op, in high precision and under transformations."""

from collections.abc import Callable, Sequence
import itertools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.cases import programs
from jax_ffi_ops.kit.testing.cases import transforms


def as_tuple(results: Any) -> tuple[Any, ...]:
  return tuple(results) if isinstance(results, (tuple, list)) else (results,)


class Oracle:
  """A reference, mapped over loop dimensions by jax.vmap and nothing else.

  XLA takes long to compile one. Most transformations do the same to each row, so
  that one program, of many rows, serves for all loop dimensions.
  """

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
      return self._tuple(*operands)
    # The leading ones are first, and outermost.
    axis = 0 if max(loops) > self._trailing else -1
    axes = [axis if rank else None for rank in loops]
    return jax.vmap(self.function, axes, axis)(*operands)

  def __call__(self, transform: Callable[..., Any], *args: Any) -> list:
    """Returns the arrays of `transform(function)(*args)`, in high precision."""
    roles = transforms.ROLES.get(transform)
    if roles is None:
      return self._run(transform, transform(self.function), args)
    operands = args[0]
    ranks = [x.ndim - rank for x, rank in zip(operands, self._core_ranks)]
    loops = _Loops.of(operands, ranks, self._trailing)
    moving = [i for i, x in enumerate(operands) if transforms.is_inexact(x)]
    has_loops = {
        "operands": ranks,
        "tangents": [ranks[i] for i in moving],
        "cotangents": itertools.repeat(loops.rank),
    }
    args = [
        list(map(loops.in_front, arrays, has_loops[role]))
        for role, arrays in zip(roles, args, strict=True)
    ]
    results = self.over_rows(transform, loops.sizes, *args)
    if "cotangents" not in roles:
      return list(map(loops.around, results))
    first = len(results) - len(moving)
    gradients = [
        loops.around(x) if ranks[i] else x.sum(tuple(range(loops.rank)))
        for i, x in zip(moving, results[first:])
    ]
    return [*map(loops.around, results[:first]), *gradients]

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

    def on_rows(*args):
      return jax.vmap(transform(self._tuple))(*args)

    results = self._run(("rows", transform), on_rows, jax.tree.map(flat, args))
    return [x[:count].reshape((*loops, *x.shape[1:])) for x in results]

  def _tuple(self, *operands):
    return as_tuple(self._reference(*operands))

  def _run(self, key, function, args):
    with jax.enable_x64(True), devices.on_cpu():
      program = self._programs.get(key)
      if program is None:
        program = programs.jit(function)
        self._programs[key] = program
      results = program(*jax.tree.map(_widen, args))
    return [np.asarray(x) for x in jax.tree.leaves(results)]


class _Loops(NamedTuple):
  """The loops of a call's operands: all in front, or as the call has them.

  Attributes:
    sizes: of the leading and the trailing ones.
    lead: how many are leading ones.
  """

  sizes: tuple[int, ...]
  lead: int

  @classmethod
  def of(cls, operands, ranks, trailing):
    rank = max(ranks, default=0)
    loops = cls((0,) * rank, rank - min(trailing, rank))
    full = (x for x, own in zip(operands, ranks) if own == rank)
    x = loops.in_front(next(full, np.zeros(())), rank)
    return loops._replace(sizes=x.shape[:rank])

  @property
  def rank(self) -> int:
    return len(self.sizes)

  def in_front(self, x, has_loops):
    if not has_loops:
      return np.broadcast_to(x, (*self.sizes, *x.shape))
    last = range(x.ndim - self.rank + self.lead, x.ndim)
    return np.moveaxis(x, last, range(self.lead, self.rank))

  def around(self, x):
    last = range(x.ndim - self.rank + self.lead, x.ndim)
    return np.moveaxis(x, range(self.lead, self.rank), last)


def _widen(x):
  if jnp.issubdtype(x.dtype, jnp.complexfloating):
    return x.astype(np.complex128)
  if jnp.issubdtype(x.dtype, jnp.floating):
    return x.astype(np.float64)
  return x
