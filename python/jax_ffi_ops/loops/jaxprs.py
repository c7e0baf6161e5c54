# SPDX-License-Identifier: Apache-2.0
"""What can be said of jaxprs before any C++ is written."""

import collections
from collections.abc import Sequence
from typing import Any

import jax
from jax.extend import core as jex_core
from jax.interpreters import partial_eval
import numpy as np

from jax_ffi_ops.kit import _jax
from jax_ffi_ops.kit.equations import equations
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import values

# Larger results of constants are computed by the handler, not by the build.
_MOST_FOLDED = 1 << 16


def is_key(aval: Any) -> bool:
  return jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key)


def physical(aval: Any) -> tuple[tuple[Any, ...], np.dtype]:
  """Returns the shape and dtype of an array, or of the words of keys."""
  if not is_key(aval):
    return aval.shape, aval.dtype
  key = jax.ShapeDtypeStruct((), aval.dtype)
  words = jax.eval_shape(jax.random.key_data, key)
  return (*aval.shape, *words.shape), words.dtype


def without_repetitions(jaxpr):
  """Returns a jaxpr that computes nothing twice, as far as can be seen.

  g++ would see that a difference is computed twice, but not a sine.
  """
  same, known, equations = {}, {}, []

  def first(x):
    return x if isinstance(x, jex_core.Literal) else same.get(x, x)

  def key(x):
    return (repr(x.val), x.aval) if isinstance(x, jex_core.Literal) else x

  for equation in jaxpr.eqns:
    equation = equation.replace(invars=list(map(first, equation.invars)))
    own = (
        equation.primitive,
        *map(key, equation.invars),
        *equation.params.items(),
    )
    try:
      before = known.setdefault(own, equation)
    except TypeError:  # Parameters that cannot be compared.
      before = equation
    if before is equation:
      equations.append(equation)
    else:
      same |= zip(equation.outvars, before.outvars)
  return jaxpr.replace(eqns=equations, outvars=list(map(first, jaxpr.outvars)))


def needed(closed: jex_core.ClosedJaxpr) -> jex_core.ClosedJaxpr:
  """Returns a jaxpr without what its results do not need, in loops, too.

  Half of a gradient of a linear filter is of that kind.
  """
  results = [True] * len(closed.out_avals)
  jaxpr, _ = partial_eval.dce_jaxpr(closed.jaxpr, results, instantiate=True)
  return closed.replace(jaxpr=jaxpr)


# Those with an effect besides their results. jax, too, drops others that no
# result needs.
_EFFECTS = ("debug_callback", "debug_print", "io_callback")


def no_callback() -> str:
  return (
      "a handler calls no Python: remove the callback (diffrax and equinox:"
      " throw=False or EQX_ON_ERROR=nan)"
  )


def check_effects(jaxpr):
  """Refuses what calls Python, also where no result needs it."""
  for equation in equations(jaxpr):
    if equation.primitive.name in _EFFECTS:
      where = _jax.source_line(equation) or "jax"
      where += f", {equation.primitive.name}"
      raise errors.Unsupported(no_callback(), where)


def variables(atoms: Sequence[Any]) -> list[Any]:
  return [x for x in atoms if not isinstance(x, jex_core.Literal)]


def uses(jaxpr):
  """Returns how often each variable is read by equations that are needed."""
  found = collections.Counter(variables(jaxpr.outvars))
  for equation in reversed(jaxpr.eqns):
    if any(found[x] for x in equation.outvars):
      found.update(variables(equation.invars))
  return found


def folded(equation, operands):
  """Returns what JAX computes of constants, or None if it should not."""
  if not all(isinstance(x, values.Constant) for x in operands):
    return None
  if any(is_key(x.aval) for x in equation.invars):
    return None  # The constants are their words.
  sizes = [x.aval.size for x in equation.outvars]
  if not all(isinstance(n, int) and n <= _MOST_FOLDED for n in sizes):
    return None
  with jax.ensure_compile_time_eval():
    found = equation.primitive.bind(
        *(jax.numpy.asarray(x.array) for x in operands), **equation.params
    )
    found = found if equation.primitive.multiple_results else [found]
    found = [jax.random.key_data(x) if is_key(x) else x for x in found]
  return [values.Constant.of(x) for x in found]


def scan_counts(params) -> tuple[int, int]:
  """Returns how many operands of a scan are constants, and how many carries."""
  hoisted = params.get("hoisted", 0)  # They come first.
  if "ft_in" in params:  # jax 0.12
    consts, carries, _ = map(len, params["ft_in"].unpack())
    return hoisted + consts, carries
  return hoisted + params["num_consts"], params["num_carry"]
