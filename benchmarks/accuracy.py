# SPDX-License-Identifier: Apache-2.0
"""Compares results with the definition in float64."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing import passes


class Error(NamedTuple):
  """How far results are from the definition.

  Attributes:
    relative: the largest norm of a result's difference, relative to its own.
    ulps: the largest difference of an element, in units in the last place: of
      that element, or of the root mean square of its array if that is larger.
      A sum of terms that cancel is not better than its terms.
  """

  relative: float
  ulps: float


def tolerance(shapes, dtype) -> float:
  """Returns the relative error that rounding explains.

  A result is rounded, and so may be what it is made of. A sum of n terms in
  float32 errs by about sqrt(n) roundings, whatever the order.
  """
  longest = max((size for shape in shapes for size in shape), default=1)
  single = float(jnp.finfo(jnp.float32).eps)
  return 2 * _eps(dtype) + 2 * longest**0.5 * single


def wanted(definition, direction, operands, cotangents) -> tuple:
  """Returns the results of a pass, computed in float64."""

  def widen(x):
    return x.astype("float64") if _is_float(x.dtype) else x

  def run(*arrays):
    arrays = jax.tree.map(widen, arrays)
    return passes.run(definition, direction, *arrays)

  with jax.enable_x64(True):
    return jax.jit(run)(operands, cotangents)


def error(results: Sequence, definition: Sequence) -> Error:
  """Returns the error of results; `wanted` returns their definition."""
  with jax.enable_x64(True):
    found = [
        _compare(jnp.asarray(got), want)
        for got, want in zip(results, definition, strict=True)
    ]
    # Of JAX: a NaN is the largest.
    return Error(*(float(jnp.max(jnp.stack(x))) for x in zip(*found)))


def _is_float(dtype):
  return jnp.issubdtype(dtype, jnp.floating)


def _eps(dtype):
  return float(jnp.finfo(dtype).eps) if _is_float(dtype) else 0.0


@jax.jit
def _compare(got, want):
  eps = _eps(got.dtype)
  got, want = got.astype("float64"), want.astype("float64")
  norm = lambda x: jnp.sqrt(jnp.mean(x * x))
  tiny = jnp.finfo("float64").tiny
  difference = jnp.abs(got - want)
  _, exponents = jnp.frexp(jnp.maximum(jnp.abs(want), norm(want)))
  ulps = eps * jnp.exp2(exponents - 1.0) if eps else 1.0
  return (
      norm(difference) / jnp.maximum(norm(want), tiny),
      jnp.max(difference / jnp.maximum(ulps, tiny)),
  )
