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


def is_inexact(x):
  return jnp.issubdtype(x.dtype, jnp.inexact)


def real_tangents(like, tangents):
  """Returns tangents for all of `like`, given those of floating-point ones."""
  tangents = iter(tangents)
  return tuple(
      next(tangents).astype(x.dtype)
      if is_inexact(x)
      else np.zeros(x.shape, float0)
      for x in like
  )


def _inexact(arrays):
  return [x for x in arrays if x.dtype != float0]


def of_operands(function):
  """(operands) -> results."""
  return lambda operands: function(*operands)


def vjp(function):
  """(operands, cotangents) -> (results, cotangents of the operands)."""

  def run(operands, cotangents):
    results, vjp = jax.vjp(function, *operands)
    return results, _inexact(vjp(real_tangents(results, cotangents)))

  return run


def jvp(function):
  """(operands, tangents) -> (results, tangents of the results)."""

  def run(operands, tangents):
    results, tangents = jax.jvp(
        function, tuple(operands), real_tangents(operands, tangents)
    )
    return results, _inexact(tangents)

  return run


def grad_of_grad(function, argnums, holomorphic):
  """Returns the gradients of a sum of squared gradients."""
  first = jax.grad(function, argnums, holomorphic=holomorphic)
  total = lambda *xs: sum(jnp.sum(x * x) for x in first(*xs))
  return jax.grad(total, argnums, holomorphic=holomorphic)


def of_moving(function):
  """(operands with derivatives, all) -> results with derivatives."""

  def run(moving, operands):
    moving = iter(moving)
    results = function(
        *(next(moving) if is_inexact(x) else x for x in operands)
    )
    return list(filter(is_inexact, results))

  return run


def linearized(function):
  """(operands, tangents, cotangents) -> tangents, cotangents."""

  def run(operands, tangents, cotangents):
    moving = list(filter(is_inexact, operands))
    results, jvp = jax.linearize(
        lambda moving: of_moving(function)(moving, operands), moving
    )
    transposed = jax.linear_transpose(jvp, moving)
    cotangents = [ct.astype(x.dtype) for ct, x in zip(cotangents, results)]
    return jvp(list(tangents)), transposed(cotangents)

  return run


# What these take, each array with loops of its own, and do to each row alone:
# the cotangents that they return are sums over rows.
ROLES = {
    of_operands: ("operands",),
    vjp: ("operands", "cotangents"),
    jvp: ("operands", "tangents"),
    linearized: ("operands", "tangents", "cotangents"),
}


def weighted(function):
  """(operands with derivatives, all, weights) -> weighted sum of results."""

  def run(moving, operands, weights):
    results = of_moving(function)(moving, operands)
    return sum(
        jnp.real(jnp.sum(x * weight.astype(x.dtype)))
        for x, weight in zip(results, weights, strict=True)
    )

  return run
