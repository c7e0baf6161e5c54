# SPDX-License-Identifier: Apache-2.0
"""numpy.einsum of arrays that know their error bounds."""

import functools
import math
import operator
from typing import Any

import jax.numpy as jnp
import numpy as np


def einsum(subscripts: str, *operands: Any) -> Any:
  """Returns sums of products, each added term by term in one loop.

  Args:
    subscripts: such as "...mn,...n->...m".
    *operands: of the class `Bounded`.

  Raises:
    ValueError: `subscripts` does not say what the result has.
  """
  operand_axes, arrow, result = subscripts.replace("...", "").partition("->")
  if not arrow:
    raise ValueError(f"{subscripts!r} must have '->' and what follows.")
  letters = "".join(sorted(set(operand_axes) - {","} - set(result)))
  axes = operand_axes.split(",")
  aligned = [
      _aligned(x, own, result + letters) for x, own in zip(operands, axes)
  ]
  terms = functools.reduce(operator.mul, aligned)
  if not letters:
    # Where nothing is computed, subnormal numbers are not flushed.
    error = terms.error + jnp.finfo(terms.dtype).smallest_normal
    return type(terms)(terms.value, terms.dtype, error)
  loops, summed = terms.shape[: -len(letters)], terms.shape[-len(letters) :]
  count = math.prod(summed)
  terms = terms.map(lambda x: x.reshape(*loops, count))
  return terms.sum(-1, additions=count)


def _aligned(x, own, axes):
  """Returns an operand with all axes, in this order; those it lacks are 1."""
  ordered = "".join(axis for axis in axes if axis in own)
  x = x.map(lambda array: np.einsum(f"...{own}->...{ordered}", array))
  return x[(..., *(slice(None) if axis in own else None for axis in axes))]
