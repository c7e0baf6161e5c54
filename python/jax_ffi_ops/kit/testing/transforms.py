# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions that return tuples, for ops and oracles alike.

Each takes a function and returns one of pytrees of arrays. Operands and results
without derivatives (integers) have float0 tangents, which are made here, since
programs have no such arrays.
"""

import jax
from jax.dtypes import float0
import jax.numpy as jnp
import numpy as np


def _is_inexact(x):
  return jnp.issubdtype(x.dtype, jnp.inexact)


def real_tangents(like, tangents):
  tangents = iter(tangents)
  return tuple(
      next(tangents).astype(x.dtype)
      if _is_inexact(x)
      else np.zeros(x.shape, float0)
      for x in like
  )


def _inexact(arrays):
  return [x for x in arrays if x.dtype != float0]


def of_operands(function):
  """(operands) -> results."""
  return lambda operands: function(*operands)


def pull_back(function):
  """(operands, cotangents) -> (results, cotangents of the operands)."""

  def run(operands, cotangents):
    results, vjp = jax.vjp(function, *operands)
    return results, _inexact(vjp(real_tangents(results, cotangents)))

  return run


def push_forward(function):
  """(operands, tangents) -> (results, tangents of the results)."""

  def run(operands, tangents):
    results, tangents = jax.jvp(
        function, tuple(operands), real_tangents(operands, tangents)
    )
    return results, _inexact(tangents)

  return run


def linearized(function):
  """`push_forward` by jax.linearize, and the transpose of that."""

  def run(operands, tangents, cotangents):
    results, jvp = jax.linearize(function, *operands)
    tangents = real_tangents(operands, tangents)
    transposed = jax.linear_transpose(
        lambda *moving: _inexact(
            jvp(*(_merge(tangents, moving)))
        ),
        *_inexact(tangents),
    )
    cotangents = [
        ct.astype(r.dtype)
        for ct, r in zip(cotangents, filter(_is_inexact, results))
    ]
    return results, _inexact(jvp(*tangents)), transposed(cotangents)

  return run


def _merge(tangents, moving):
  moving = iter(moving)
  return [t if t.dtype == float0 else next(moving) for t in tangents]


def of_moving(function):
  """(operands with derivatives, all) -> results with derivatives."""

  def run(moving, operands):
    moving = iter(moving)
    results = function(
        *(next(moving) if _is_inexact(x) else x for x in operands)
    )
    return list(filter(_is_inexact, results))

  return run


def weighted(function):
  """(operands with derivatives, all, weights) -> weighted sum of results."""

  def run(moving, operands, weights):
    results = of_moving(function)(moving, operands)
    return sum(
        jnp.real(jnp.sum(x * weight.astype(x.dtype)))
        for x, weight in zip(results, weights, strict=True)
    )

  return run
