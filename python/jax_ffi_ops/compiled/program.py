# SPDX-License-Identifier: Apache-2.0
"""Traces a function of pytrees, and makes one of arrays of it."""

from collections.abc import Callable, Sequence
import functools
import inspect
from typing import Any, NamedTuple

import jax
from jax.extend import core as jex_core
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.loops.jaxprs import is_key

# Constants of more elements are operands: they are neither in the C++ nor in
# the key of a cache.
_LARGEST_IN_TEXT = 64


# What jax makes of a function depends on these, too.
_SETTINGS = (
    "jax_default_matmul_precision",
    "jax_default_prng_impl",
    "jax_enable_x64",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_threefry_partitionable",
)

# In the keys of jax's caches: what is traced of a part is no call of an op.
_outer = jax.make_user_context(False)


def is_of_another() -> bool:
  """Returns whether what is traced now becomes a part of a larger program."""
  return _outer.value


class Program(NamedTuple):
  """A function of arrays, as it was traced.

  Attributes:
    jaxpr: of large constants, and then of the operands. It has no keys.
    constants: these, which may be tracers of an outer transformation.
    restored: returns the caller's results, given those of the jaxpr.
  """

  jaxpr: jex_core.ClosedJaxpr
  constants: Sequence[Any]
  restored: Callable[[Sequence[jax.Array]], Any]


class Calls:
  """Calls of a function whose arguments are alike but for their shapes."""

  def __init__(
      self, function: Callable[..., Any], leaves: Sequence[Any], tree: Any
  ):
    """Takes a call apart.

    Args:
      function: takes the arguments of the tree.
      leaves: of the tree. All arrays are tracers; other leaves are static.
      tree: of positional arguments, and keywords.
    """
    arrays = list(filter(_is_array, leaves))
    self._function = function
    self._tree = tree
    self._static = [None if _is_array(x) else x for x in leaves]
    self._places = [i for i, x in enumerate(leaves) if _is_array(x)]
    self._inverse = list(map(_inverse, arrays))
    avals = [jax.typeof(_words(x)) for x in arrays]
    self.shapes = tuple(x.shape for x in avals)
    self._types = [(x.dtype, x.weak_type) for x in avals]
    kinds = [str(jax.typeof(x).dtype) for x in arrays]
    settings = (getattr(jax.config, name) for name in _SETTINGS)
    self.key = (tree, *self._static, *self._types, *kinds, *settings)

  def traced(self, shapes: Sequence[Sequence[Any]] | None = None) -> Program:
    """Traces the function.

    Args:
      shapes: of the operands; by default, those of the first call.
    """
    found = {}

    # jax's errors name the caller's function, and its arguments.
    @functools.wraps(self._function)
    def of_words(*words):
      given = list(self._static)
      for i, inverse, x in zip(self._places, self._inverse, words, strict=True):
        given[i] = inverse(x)
      positional, keywords = jax.tree.unflatten(self._tree, given)
      results, tree = jax.tree.flatten(self._function(*positional, **keywords))
      results = list(map(jnp.asarray, results))
      found.update(tree=tree, inverse=list(map(_as_result, results)))
      return list(map(_words, results))

    if self._tree != jax.tree.structure(((0,) * len(self._types), {})):
      own = inspect.signature(of_words, follow_wrapped=False)
      of_words.__signature__ = own  # An argument has several words, or none.
    avals = [
        jax.ShapeDtypeStruct(shape, dtype, weak_type=weak_type)
        for shape, (dtype, weak_type) in zip(shapes or self.shapes, self._types)
    ]
    with _outer(True):
      closed = jax.make_jaxpr(of_words)(*avals)
    jaxpr, constants = _with_operands(closed, avals)

    def restored(results):
      arrays = [f(x) for f, x in zip(found["inverse"], results, strict=True)]
      return jax.tree.unflatten(found["tree"], arrays)

    return Program(jaxpr, constants, restored)


def operands(leaves: Sequence[Any]) -> list[jax.Array]:
  """Returns the arrays among the leaves of arguments, as operands of an op."""
  return list(map(_operand, filter(_is_array, leaves)))


def _is_array(x):
  return isinstance(x, jax.core.Tracer)


def _words(x):
  """Returns an array, or the words of keys."""
  return jax.random.key_data(x) if is_key(jax.typeof(x)) else x


def _operand(x):
  """Returns an operand of an op; its derivatives have the type of x."""
  x = _words(x)
  return _converted(x, False) if jax.typeof(x).weak_type else x


def _converted(x, weak_type):
  return jax.lax.convert_element_type_p.bind(
      x, new_dtype=x.dtype, weak_type=weak_type, sharding=None
  )


def _inverse(x):
  """Returns what makes keys of words if x is of keys."""
  if not is_key(jax.typeof(x)):
    return lambda words: words
  impl = jax.random.key_impl(x)
  return lambda words: jax.random.wrap_key_data(words, impl=impl)


def _as_result(x):
  """Returns what makes of an op's result what jax has: x."""
  if jax.typeof(x).weak_type:
    return lambda array: _converted(array, True)
  return _inverse(x)


def _with_operands(closed, avals):
  """Has large constants as operands, and the words of keys in their place."""
  of_keys = [is_key(jax.typeof(x)) for x in closed.consts]
  moved = [
      own or _is_array(x) or np.size(x) > _LARGEST_IN_TEXT
      for x, own in zip(closed.consts, of_keys)
  ]
  if not any(moved):
    return closed, []
  constants = [_operand(x) for x, own in zip(closed.consts, moved) if own]
  inverse = list(map(_inverse, closed.consts))

  def function(*arrays):
    given = iter(arrays[: len(constants)])
    consts = [
        f(next(given)) if own else x
        for f, x, own in zip(inverse, closed.consts, moved)
    ]
    return jax.core.eval_jaxpr(closed.jaxpr, consts, *arrays[len(constants) :])

  types = [
      jax.ShapeDtypeStruct(x.shape, x.dtype) for x in map(jax.typeof, constants)
  ]
  return jax.make_jaxpr(function)(*types, *avals), constants
