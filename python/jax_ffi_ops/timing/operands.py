# SPDX-License-Identifier: Apache-2.0
"""What a function is called with: random arrays, described by a case."""

from collections.abc import Callable, Iterator, Sequence
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Array(NamedTuple):
  """One operand of a function.

  Attributes:
    shape: of the array.
    draw: makes it, from a key of jax.random and the shape.
    dtype: by default that of the line.
    shared: whether it is the same array in all sets of operands, as weights of
      a model are.
  """

  shape: tuple[int, ...]
  draw: Callable[[jax.Array, tuple[int, ...]], jax.Array] = jax.random.normal
  dtype: str | None = None
  shared: bool = False

  def abstract(self, dtype: str) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(self.shape, self.dtype or dtype)

  def make(self, key: jax.Array, dtype: str) -> jax.Array:
    made = _draw(self.draw, self.shape, self.dtype or dtype, key)
    return jax.block_until_ready(made)  # No two temporaries at a time.


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _draw(draw, shape, dtype, key):
  if draw is jax.random.normal and jnp.issubdtype(dtype, jnp.integer):
    unsigned = f"uint{8 * jnp.dtype(dtype).itemsize}"
    return jax.random.bits(key, shape, unsigned).astype(dtype)
  return draw(key, shape).astype(dtype)


def array(*shape: int) -> Array:
  """Normal numbers, or integers of random bits."""
  return Array(shape)


def weight(*shape: int) -> Array:
  """Numbers in [1, 2), the same in all sets."""
  return Array(shape, _draw_weight, shared=True)


def _draw_weight(key, shape):
  return 1 + jax.random.uniform(key, shape)


def indices(below: int, *shape: int) -> Array:
  """Integers in [0, below)."""
  draw = lambda key, shape: jax.random.randint(key, shape, 0, below)
  return Array(shape, draw, "int32")


def keys() -> Iterator[jax.Array]:
  """Yields keys of jax.random, always the same ones."""
  return map(jax.random.key, range(2**31))


def make_sets(
    described: Sequence[Array],
    function: Callable[..., Any],
    dtype: str,
    count: int,
) -> list[tuple[tuple[jax.Array, ...], tuple[jax.Array, ...]]]:
  """Returns so many pairs of operands and cotangents.

  Args:
    described: the operands.
    function: of them. A cotangent is of a result with derivatives.
    dtype: of all that have none of their own.
    count: of the pairs.
  """
  left = keys()
  results = jax.eval_shape(function, *(x.abstract(dtype) for x in described))
  floats = [
      Array(x.shape, dtype=x.dtype)
      for x in jax.tree.leaves(results)
      if jnp.issubdtype(x.dtype, jnp.inexact)
  ]
  sets: list[tuple[tuple[jax.Array, ...], tuple[jax.Array, ...]]] = []
  for _ in range(count):
    operands = tuple(
        sets[0][0][i] if x.shared and sets else x.make(next(left), dtype)
        for i, x in enumerate(described)
    )
    sets.append((operands, tuple(x.make(next(left), dtype) for x in floats)))
  return sets
