# SPDX-License-Identifier: Apache-2.0
"""Random numbers: functions of jax_ffi_ops.random, and programs of them.

bazel run //benchmarks:samplers_benchmark -- --sizes=1000,1000000

Each function is timed in turns with that of jax.random, which returns the same
numbers, and with that of NumPy's Generator (PCG64), which returns others.
Printed are medians of milliseconds, and of the speed-ups in each round.
"""

import argparse
from collections.abc import Callable
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import random
from jax_ffi_ops.timing import rounds

_CATEGORIES = 512
_STEPS = 10

Draw = Callable[..., Any]

# What a library draws n numbers with, of a key.
FUNCTIONS: dict[str, Callable[[Any, int], Draw]] = {
    "bits": lambda lib, n: lambda key: lib.bits(key, (n,)),
    "split": lambda lib, n: lambda key: jax.random.key_data(lib.split(key, n)),
    "uniform": lambda lib, n: lambda key: lib.uniform(key, (n,)),
    "normal": lambda lib, n: lambda key: lib.normal(key, (n,)),
    "randint": lambda lib, n: lambda key: lib.randint(key, (n,), 0, 77),
    "bernoulli": lambda lib, n: lambda key: lib.bernoulli(key, 0.3, (n,)),
    "exponential": lambda lib, n: lambda key: lib.exponential(key, (n,)),
    "gumbel": lambda lib, n: lambda key: lib.gumbel(key, (n,)),
    "laplace": lambda lib, n: lambda key: lib.laplace(key, (n,)),
    "truncated_normal": lambda lib, n: lambda key: lib.truncated_normal(
        key, -1.0, 2.0, (n,)
    ),
    "gamma": lambda lib, n: lambda key: lib.gamma(key, 2.5, (n,)),
    "gamma gradient": lambda lib, n: lambda key: jax.grad(
        lambda a: lib.gamma(key, a).sum()
    )(jnp.full(n, 2.5)),
    "beta": lambda lib, n: lambda key: lib.beta(key, 2.0, 3.0, (n,)),
    "dirichlet": lambda lib, n: lambda key: lib.dirichlet(
        key, jnp.ones(4), (-(-n // 4),)
    ),
    "t": lambda lib, n: lambda key: lib.t(key, 3.0, (n,)),
    "poisson": lambda lib, n: lambda key: lib.poisson(key, 4.0, (n,)),
    "binomial": lambda lib, n: lambda key: lib.binomial(key, 100.0, 0.3, (n,)),
    "categorical": lambda lib, n: lambda key: lib.categorical(
        key, jnp.zeros((-(-n // _CATEGORIES), min(n, _CATEGORIES)))
    ),
    "permutation": lambda lib, n: lambda key: lib.permutation(key, n),
}

_GENERATOR = np.random.default_rng(0)
NUMPY: dict[str, Callable[[int], Any]] = {
    "bits": lambda n: _GENERATOR.integers(0, 2**32, n, np.uint32),
    "uniform": lambda n: _GENERATOR.random(n, np.float32),
    "normal": lambda n: _GENERATOR.standard_normal(n, np.float32),
    "exponential": lambda n: _GENERATOR.standard_exponential(n, np.float32),
    "gamma": lambda n: _GENERATOR.standard_gamma(2.5, n, np.float32),
    "beta": lambda n: _GENERATOR.beta(2, 3, n),
    "t": lambda n: _GENERATOR.standard_t(3, n),
    "poisson": lambda n: _GENERATOR.poisson(4, n),
    "binomial": lambda n: _GENERATOR.binomial(100, 0.3, n),
    "permutation": _GENERATOR.permutation,
}


def particle_filter(lib: Any, n: int) -> Draw:
  """A stochastic volatility, followed by n particles that are resampled."""

  def step(carry, y):
    x, key = carry
    key, moves, picks = lib.split(key, 3)
    x = 0.95 * x + 0.3 * lib.normal(moves, (n,))
    weight = jnp.cumsum(jnp.exp(-0.5 * (x + y**2 * jnp.exp(-x))))
    place = lib.uniform(picks, (n,), maxval=weight[-1])
    x = x[jnp.searchsorted(weight, place, method="sort")]
    return (x, key), jnp.mean(x)

  observed = jnp.sin(jnp.arange(_STEPS, dtype=jnp.float32))
  return lambda key: jax.lax.scan(step, (jnp.zeros(n), key), observed)[1]


def gibbs(lib: Any, n: int) -> Draw:
  """Means and precisions of n groups of counts, each given the other."""

  def step(carry, _):
    rate, key = carry
    key, first, second = lib.split(key, 3)
    counts = lib.poisson(first, rate)
    rate = lib.gamma(second, counts + 2.0) / 1.5
    return (rate, key), jnp.mean(rate)

  return lambda key: jax.lax.scan(step, (jnp.full(n, 4.0), key), length=_STEPS)[
      1
  ]


PROGRAMS = {"particle filter": particle_filter, "Gibbs sampler": gibbs}


def compare(name: str, n: int, count: int) -> str:
  """Returns a line: milliseconds, and speed-ups over each peer."""
  of = (FUNCTIONS | PROGRAMS)[name]
  key = jax.random.key(1)
  calls = {
      label: functools.partial(jax.jit(of(lib, n)), key)
      for label, lib in (("jax_ffi_ops", random), ("jax", jax.random))
  }
  if name in NUMPY:
    calls["numpy"] = functools.partial(NUMPY[name], n)
  found = rounds.of_calls(calls, count)
  text = f"{name} {n}: {1e3 * found.pop('jax_ffi_ops').seconds[1]:.3f} ms"
  for peer, timing in found.items():
    _, seconds, _ = timing.seconds
    text += f"; {peer} {1e3 * seconds:.3f} ms, {timing.speedup[1]:.2f}×"
  return text


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--sizes", default="1000,100000,1000000")
  parser.add_argument("--only", nargs="*", default=[*FUNCTIONS, *PROGRAMS])
  parser.add_argument("--rounds", type=int, default=9)
  options = parser.parse_args()
  for name in options.only:
    for size in options.sizes.split(","):
      print(compare(name, int(size), options.rounds), flush=True)


if __name__ == "__main__":
  main()
