# SPDX-License-Identifier: Apache-2.0
"""The public functions, each made of its namesake in the installed jax."""

import functools
import inspect

import jax
from jax.sharding import AxisType
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit.operands import ARRAYS
from jax_ffi_ops.random import counts
from jax_ffi_ops.random import gammas
from jax_ffi_ops.random import keys
from jax_ffi_ops.random import sampling

# Arguments that are arrays, or numbers. Others are parts of programs.
_ARRAYS = frozenset(
    "a alpha b concentration cov data df dfden dfnum lam left logits loc"
    " lower maxval mean minval mode n p right scale sigma upper".split()
)
_NUMBERS = (bool, int, float, complex)
# Of these functions, this argument is a size if it is no array.
_SIZES = {"choice": "a", "orthogonal": "n"}

_DOC = """Returns what jax.random.{name} returns for the same arguments.

  On a CPU, {what} of keys of Threefry-2x32 (jax's default) are made by
  handlers: {faster}. Whatever else comes is jax's to compute, or to refuse.
  The numbers are the same; docs/random.md says where the last bits may differ.

  Args:
    *args: as those of jax.random.{name}: {signature}.
    **kwargs: likewise.

  Returns:
    What jax.random.{name} returns.

  Raises:
    TypeError, ValueError: as jax.random.{name}.
  """


def _is_array(name, value):
  if name == "key":
    return isinstance(value, (jax.Array, np.ndarray))
  if name not in _ARRAYS:
    return False
  return isinstance(value, ARRAYS + _NUMBERS)


def _is_plain(name, value):
  """Returns whether jit might take a number otherwise than jax.random does."""
  if not isinstance(value, int):
    return False
  return not (0 if name == "data" else -(2**31)) <= value < 2**31


def _leaves_all_to_jax():
  """Returns whether a configuration asks for what programs of ours lack.

  It checks that keys are used once, or has explicit axes of a mesh.
  """
  axes = jax.sharding.get_abstract_mesh().axis_types
  return jax.config.jax_debug_key_reuse or AxisType.Explicit in axes


def _like(name, ops, what, faster, call=sampling.call):
  plain = getattr(jax.random, name)
  signature = inspect.signature(plain)

  @kit.public(*ops)
  @functools.wraps(plain, assigned=("__name__", "__qualname__"), updated=())
  def function(*args, **kwargs):
    try:
      given = signature.bind(*args, **kwargs).arguments
    except TypeError:
      return plain(*args, **kwargs)
    static = {k: v for k, v in given.items() if not _is_array(k, v)}
    size = _SIZES.get(name)
    if size in given and np.ndim(given[size]) == 0:
      static[size] = given[size]
    arrays = {k: v for k, v in given.items() if k not in static}
    if (
        static.get("out_sharding") is not None
        or not _are_hashable(static)
        or any(_is_plain(k, v) for k, v in given.items())
        or _leaves_all_to_jax()
    ):
      return plain(*args, **kwargs)
    return call(plain, arrays, static)

  function.__module__ = "jax_ffi_ops.random"
  function.__signature__ = signature
  function.__doc__ = _DOC.format(
      name=name,
      what=what,
      faster=faster,
      signature=", ".join(signature.parameters),
  )
  return function


def _of_bits(name):
  return _like(
      name, keys.OPS, "random bits", "a vector makes a block in each lane"
  )


def _of_gamma(name):
  return _like(
      name,
      (*keys.OPS, *gammas.OPS),
      "random bits and gamma-distributed numbers",
      "a lane tries until it accepts, and waits for its vector alone",
  )


def _of_counts(name, call):
  return _like(
      name,
      (*keys.OPS, *counts.OPS),
      "numbers",
      "a vector waits for its own lanes in most rounds, and not for all numbers",
      call,
  )


def _are_hashable(static):
  try:
    hash(tuple(static.values()))
  except TypeError:
    return False
  return True


ball = _of_bits("ball")
bernoulli = _of_bits("bernoulli")
beta = _of_gamma("beta")
binomial = _of_counts("binomial", counts.call_binomial)
bits = _of_bits("bits")
categorical = _of_bits("categorical")
cauchy = _of_bits("cauchy")
chisquare = _of_gamma("chisquare")
choice = _of_bits("choice")
dirichlet = _of_gamma("dirichlet")
double_sided_maxwell = _of_bits("double_sided_maxwell")
exponential = _of_bits("exponential")
f = _of_gamma("f")
fold_in = _of_bits("fold_in")
gamma = _of_gamma("gamma")
generalized_normal = _of_gamma("generalized_normal")
geometric = _of_bits("geometric")
gumbel = _of_bits("gumbel")
laplace = _of_bits("laplace")
loggamma = _of_gamma("loggamma")
logistic = _of_bits("logistic")
lognormal = _of_bits("lognormal")
maxwell = _of_bits("maxwell")
multinomial = _of_counts("multinomial", counts.call_multinomial)
multivariate_normal = _of_bits("multivariate_normal")
normal = _of_bits("normal")
orthogonal = _of_bits("orthogonal")
pareto = _of_bits("pareto")
poisson = _of_counts("poisson", counts.call_poisson)
rademacher = _of_bits("rademacher")
randint = _of_bits("randint")
rayleigh = _of_bits("rayleigh")
split = _of_bits("split")
t = _of_gamma("t")
triangular = _of_bits("triangular")
truncated_normal = _of_bits("truncated_normal")
uniform = _of_bits("uniform")
wald = _of_bits("wald")
weibull_min = _of_bits("weibull_min")
