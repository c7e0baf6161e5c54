# SPDX-License-Identifier: Apache-2.0
"""Poisson and binomially distributed numbers.

In jax, a call draws all of its numbers in each round, and goes on until each of
them is done. So a row of an op is the whole array of a key.
"""

from collections.abc import Callable, Mapping
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.random import keys
from jax_ffi_ops.random import sampling

# Older ones have XLA's lgamma, which is another function of the last bits.
_LANCZOS = jax.__version_info__ < (0, 12)


def _poisson_reference(key, lam, *, wide, partitionable, lanczos):
  del lanczos
  with keys.partitionable(partitionable):
    dtype = np.int64 if wide else np.int32
    return jax.random.poisson(keys.wrap(key), lam, dtype=dtype)


def _binomial_reference(key, n, p, *, partitionable):
  with keys.partitionable(partitionable):
    return jax.random.binomial(keys.wrap(key), n, p, dtype=np.float32)


_poisson = kit.op(
    "random_poisson",
    library=keys.LIBRARY,
    signature="(2),(n)->(n)",
    attributes={
        "wide": kit.Attribute(np.bool_, example=False),
        "partitionable": np.bool_,
        "lanczos": np.bool_,
    },
    reference=_poisson_reference,
    dtypes={"key": ("uint32",), "lam": ("float32",)},
    outputs=("counts",),
)

_binomial = kit.op(
    "random_binomial",
    library=keys.LIBRARY,
    signature="(2),(n),(n)->(n)",
    attributes={"partitionable": np.bool_},
    reference=_binomial_reference,
    dtypes={"key": ("uint32",), "n": ("float32",), "p": ("float32",)},
    outputs=("counts",),
)


OPS = (_poisson, _binomial)


def _draw_poisson(key, given, result):
  if given.get("method", "exact") != "exact":
    return None
  if result.dtype not in (np.int32, np.int64):
    return None
  return _poisson(
      key,
      _row(given["lam"], result.shape),
      wide=result.dtype == np.int64,
      partitionable=keys.is_partitionable(),
      lanczos=_LANCZOS,
  )


def _draw_binomial(key, given, result):
  n, p = given["n"], jnp.asarray(given["p"])
  if not jnp.issubdtype(p.dtype, np.inexact):
    p = p.astype(jax.dtypes.canonicalize_dtype(np.float64))
  if p.dtype != np.float32 or result.dtype != np.float32:
    return None  # jax computes in p's dtype.
  return _binomial(
      key,
      _row(n, result.shape),
      _row(p, result.shape),
      partitionable=keys.is_partitionable(),
  )


def _draw_multinomial(key, given, result):
  """As jax does: of what remains, each outcome has a binomial number."""
  n, p = jnp.asarray(given["n"]), jnp.asarray(given["p"])
  dtype = jnp.result_type(n, p)
  if not jnp.issubdtype(dtype, jnp.inexact):
    dtype = jax.dtypes.canonicalize_dtype(np.float64)
  if dtype != np.float32:
    return None
  shape = result.shape
  n = jnp.broadcast_to(n.astype(dtype), shape[:-1])
  p = jnp.moveaxis(jnp.broadcast_to(p.astype(dtype), shape), -1, 0)
  remaining = jax.lax.cumsum(p, 0, reverse=True)
  ratios = p / jnp.where(remaining == 0, 1, remaining)

  def step(remainder, own):
    ratio, key = own
    count = _binomial(
        key,
        _row(remainder, remainder.shape),
        _row(ratio.clip(0, 1), remainder.shape),
        partitionable=keys.is_partitionable(),
    ).reshape(remainder.shape)
    return remainder - count, count

  each = keys.split(key, ratios.shape[:1])
  unroll = given.get("unroll", 1)
  found = jax.lax.scan(step, n, (ratios, each), unroll=unroll)[1]
  return jnp.moveaxis(found, 0, -1).astype(result.dtype)


def _row(x, shape):
  """Returns a parameter of each number. It has no derivative, as in jax."""
  x = jax.lax.stop_gradient(jnp.asarray(x).astype(np.float32))
  return jnp.broadcast_to(x, shape).reshape(-1)


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _run(draw, plain, fixed, read, arrays):
  del read
  static = sampling.values(fixed)
  given = static | arrays
  # jax checks the arguments.
  result = jax.eval_shape(lambda: plain(**given))
  key = given["key"]
  if not jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
    key = jax.random.wrap_key_data(key)
  if keys.are_threefry(key) and keys.can_serve(result.shape, 32):
    found = draw(jax.random.key_data(key), given, result)
    if found is not None:
      return found.reshape(result.shape)
  return sampling.call(plain, arrays, static)


def _caller(draw):
  def call(
      plain: Callable[..., Any],
      arrays: Mapping[str, Any],
      static: Mapping[str, Any],
  ) -> jax.Array:
    """As sampling.call."""
    fixed = sampling.exact(static)
    return _run(draw, plain, fixed, sampling.settings(), dict(arrays))

  return call


call_poisson = _caller(_draw_poisson)
call_binomial = _caller(_draw_binomial)
call_multinomial = _caller(_draw_multinomial)
