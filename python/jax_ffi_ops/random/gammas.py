# SPDX-License-Identifier: Apache-2.0
"""Gamma-distributed numbers."""

import math

import jax
import jax.extend.random
import jax.numpy as jnp
import jaxlib.version
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.random import keys

DTYPES = ("float32", "float64")

# XLA's log1p(x) of float64 takes a rational function of x from here on.
_IS_LATE = jaxlib.version.__version_info__ >= (0, 11, 1)
_LOG1P_FROM = 2**-0.5 - 1 if _IS_LATE else 1 - 2**0.5

# jax.random.gamma makes a key for each element before it draws. This kind of
# key is such a key already: split into one, it stays as it is.
_THREEFRY = jax.extend.random.threefry_prng_impl
_OF_ONE = jax.extend.random.define_prng_impl(
    key_shape=_THREEFRY.key_shape,
    seed=_THREEFRY.seed,
    split=lambda key, shape: (
        key[None] if shape == (1,) else _THREEFRY.split(key, shape)
    ),
    random_bits=_THREEFRY.random_bits,
    fold_in=_THREEFRY.fold_in,
    name="xla_ffi_ops_of_one",
    tag="xfo",
)


def _reference(key, alpha, *, log_space, partitionable, log1p_from):
  del log1p_from
  draw = jax.random.loggamma if log_space else jax.random.gamma
  key = jax.random.wrap_key_data(key, impl=_OF_ONE)
  with keys.partitionable(partitionable):
    return draw(key, alpha, dtype=alpha.dtype)


# Of a number, by its parameter. Second derivatives are jax's.
_grad = kit.op(
    "random_gamma_grad",
    library=keys.LIBRARY,
    signature="(),()->()",
    reference=jax.lax.random_gamma_grad,
    dtypes=DTYPES,
    operands=("alpha", "sample"),
    outputs=("slope",),
    choice=kit.Choice(is_faster=lambda alpha, _, **__: alpha.size >= 4),
)


def _jvp(alpha, sample, alpha_dot, *, log_space, **_):
  if not log_space:
    return (_grad(alpha, sample) * alpha_dot,)
  x = jnp.maximum(jnp.exp(sample), jnp.finfo(sample.dtype).tiny)
  return (_grad(alpha, x) / x * alpha_dot,)


_gamma = kit.op(
    "random_gamma",
    library=keys.LIBRARY,
    signature="(2),()->()",
    attributes={
        "log_space": np.bool_,
        "partitionable": np.bool_,
        "log1p_from": kit.Attribute(np.float64, example=-0.4),
    },
    reference=_reference,
    dtypes={"key": ("uint32",), "alpha": DTYPES},
    outputs=("sample",),
    derivatives=kit.Derivatives(jvp=_jvp),
)


OPS = (_gamma, _grad)


def draw(words: jax.Array, alpha: jax.Array, *, log_space: bool) -> jax.Array:
  """Returns a number for each parameter, as jax.random.gamma does.

  Args:
    words: the words of keys, [*k, 2], of which each has its own parameters.
    alpha: the parameters, [*k, ...], of DTYPES.
    log_space: whether to return the logarithms of the numbers.
  """
  shape = alpha.shape[words.ndim - 1 :]
  own = keys.split(words, (math.prod(shape),)).reshape(*alpha.shape, 2)
  return _gamma(
      own,
      alpha,
      log_space=log_space,
      partitionable=keys.is_partitionable(),
      log1p_from=_LOG1P_FROM,
  )
