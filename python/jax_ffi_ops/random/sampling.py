# SPDX-License-Identifier: Apache-2.0
"""Calls of jax.random whose random bits, and slow parts, are handlers' work.

A function of jax.random is traced. Of its program, the equations that make keys
and numbers run handlers. So arguments, errors, shapes and numbers are those of
the installed jax.
"""

from collections.abc import Callable, Mapping
import functools
from typing import Any

import jax
from jax.extend import core
from jax.extend.core import primitives

from jax_ffi_ops.composed.argmax import argmax
from jax_ffi_ops.composed.lax_sort import lax_sort
from jax_ffi_ops.random import gammas
from jax_ffi_ops.random import keys


def _random_bits(key, *, bit_width, shape):
  return keys.bits(jax.random.key_data(key), bit_width, shape)


def _random_split(key, *, shape):
  return keys.wrap(keys.split(jax.random.key_data(key), shape))


def _random_fold_in(key, data):
  return keys.wrap(keys.fold_in(jax.random.key_data(key), data))


def _random_gamma(key, alpha, *, log_space):
  words = jax.random.key_data(key)
  ours = functools.partial(gammas.draw, log_space=log_space)
  plain = lambda words, alpha: primitives.random_gamma_p.bind(
      keys.wrap(words), alpha, log_space=log_space
  )
  return jax.lax.platform_dependent(words, alpha, cpu=ours, default=plain)


def _argmax(x, *, axes, index_dtype, **_):
  return argmax(x, axes[0]).astype(index_dtype)


def _sort(*arrays, dimension, is_stable, num_keys):
  return lax_sort(arrays, dimension, is_stable, num_keys)


# Of keys of Threefry; and what else takes most of the time of a function.
_OF_KEYS = {
    primitives.random_bits_p: _random_bits,
    primitives.random_fold_in_p: _random_fold_in,
    primitives.random_gamma_p: _random_gamma,
    primitives.random_split_p: _random_split,
}
_OTHERS = {primitives.argmax_p: _argmax, primitives.sort_p: _sort}


def _rule(equation, arguments):
  """Returns the function that computes an equation, if jax does not."""
  primitive, params = equation.primitive, equation.params
  if primitive in _OTHERS:
    return _OTHERS[primitive]
  if primitive not in _OF_KEYS or not keys.are_threefry(arguments[0]):
    return None
  shape = params.get("shape", ())
  if primitive is primitives.random_gamma_p:
    shape = arguments[1].shape
    if arguments[1].dtype.name not in gammas.DTYPES:
      return None
  if not keys.can_serve(shape, params.get("bit_width", 32)):
    return None
  return _OF_KEYS[primitive]


def _evaluate(closed, *arguments):
  """Returns the results of a program."""
  values = dict(zip(closed.jaxpr.constvars, closed.consts))
  values.update(zip(closed.jaxpr.invars, arguments))
  read = lambda x: x.val if isinstance(x, core.Literal) else values[x]
  for equation in closed.jaxpr.eqns:
    inputs = [read(x) for x in equation.invars]
    if equation.primitive is primitives.jit_p:
      results = _evaluate(equation.params["jaxpr"], *inputs)
    else:
      rule = _rule(equation, inputs)
      if rule is None:
        rule = equation.primitive.bind
      results = rule(
          *inputs, **equation.primitive.get_bind_params(equation.params)
      )
      if not equation.primitive.multiple_results:
        results = [results]
    values.update(zip(equation.outvars, results))
  return [read(x) for x in closed.jaxpr.outvars]


class _Exact:
  """A value that equals those of its own type: 3 is not 3.0."""

  def __init__(self, value: Any):
    self.value = value
    self._key = _typed(value)

  def __eq__(self, other):
    return isinstance(other, _Exact) and self._key == other._key

  def __hash__(self):
    return hash(self._key)


def _typed(value):
  if isinstance(value, tuple):
    return tuple, tuple(_typed(x) for x in value)
  return type(value), value


def exact(static: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
  """Returns arguments as a static argument of jit."""
  return tuple((name, _Exact(static[name])) for name in sorted(static))


def values(fixed: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
  """Returns the arguments that `exact` took."""
  return {name: each.value for name, each in fixed}


_SETTINGS = (
    "jax_default_prng_impl",
    "jax_enable_custom_prng",
    "jax_legacy_prng_key",
)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _run(plain, fixed, read, arrays):
  del read
  function = functools.partial(plain, **values(fixed))
  closed, shape = jax.make_jaxpr(
      lambda arrays: function(**arrays), return_shape=True
  )(arrays)
  results = _evaluate(closed, *jax.tree.leaves(arrays))
  return jax.tree.unflatten(jax.tree.structure(shape), results)


def settings() -> tuple[Any, ...]:
  """Returns what programs depend on, and jit does not tell apart."""
  return tuple(getattr(jax.config, name) for name in _SETTINGS)


def call(
    plain: Callable[..., Any],
    arrays: Mapping[str, Any],
    static: Mapping[str, Any],
) -> Any:
  """Returns what a function of jax.random returns.

  Args:
    plain: the function.
    arrays: those of its arguments that may be arrays, by name.
    static: the others.
  """
  return _run(plain, exact(static), settings(), dict(arrays))
