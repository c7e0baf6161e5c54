# SPDX-License-Identifier: Apache-2.0
"""rms_norm and jax.numpy in programs of many calls, each on arrays of its own."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

import gpu_timing
from jax_ffi_ops import rms_norm
from rms_norm_benchmark import plain

DIRECTIONS = ("forward", "backward", "both")

# One CUDA graph of all calls, however few they are.
_OPTIONS = {"xla_gpu_graph_min_graph_size": 1}


class Inputs(NamedTuple):
  """What all variants are timed with: lists of x and dy, and one scale."""

  xs: list[jax.Array]
  dys: list[jax.Array]
  scale: jax.Array


class Variant(NamedTuple):
  """A way to compute the norm.

  Attributes:
    program: to be timed.
    first: returns the results of the first call.
  """

  program: gpu_timing.Program
  first: Callable[[], Sequence[jax.Array]]


def streams(direction: str) -> int:
  """Returns how many arrays of the size of x are read or written at least."""
  return {"forward": 2, "backward": 3, "both": 5}[direction]


def make_inputs(shape: tuple[int, int], dtype: str, direction: str) -> Inputs:
  """Returns random inputs, as many as it takes to get around the cache."""
  x_bytes = shape[0] * shape[1] * jnp.dtype(dtype).itemsize
  most = 64 if jax.default_backend() == "gpu" else 2
  count = gpu_timing.rotation(streams(direction) * x_bytes, most)
  normal = jax.jit(
      lambda key: jax.random.normal(key, shape, jnp.float32).astype(dtype)
  )
  keys = list(jax.random.split(jax.random.key(0), 2 * count + 1))
  scale = 1 + jax.random.uniform(keys.pop(), shape[-1:]).astype(dtype)
  arrays = [jax.block_until_ready(normal(key)) for key in keys]
  return Inputs(arrays[:count], arrays[count:], scale)


def _pull_back(norm):
  return lambda x, scale, dy: jax.vjp(norm, x, scale)[1](dy)


def _both(norm):
  def both(x, scale, dy):
    y, pull_back = jax.vjp(norm, x, scale)
    return y, *pull_back(dy)

  return both


def _variant(function, *operands):
  """Returns the variant that maps `function` over lists of operands."""

  def many(*lists):
    results = []
    for args in zip(*lists):
      if results:
        # One after the other: else XLA makes one kernel of small calls.
        args, _ = jax.lax.optimization_barrier((args, results[-1]))
      results.append(function(*args))
    return results

  program = jax.jit(many, compiler_options=_OPTIONS)
  compiled = program.lower(*operands).compile()

  def first():
    return jax.tree.leaves(compiled(*operands)[0])

  program = gpu_timing.Program(
      lambda: compiled(*operands), jax.block_until_ready, len(operands[0])
  )
  return Variant(program, first)


def copy(inputs: Inputs) -> Variant:
  return _variant(jnp.copy, inputs.xs)


def variants(inputs: Inputs, direction: str) -> dict[str, Variant]:
  """Returns the variants in JAX.

  The backward pass of ours has the residual that its forward pass left; that of
  jax.numpy computes it from x, which takes no further reading of an array.
  """
  xs, dys, scale = inputs
  scales = [scale] * len(xs)
  if direction != "backward":
    both = direction == "both"
    lists = (xs, scales, dys) if both else (xs, scales)
    return {
        name: _variant(_both(norm) if both else norm, *lists)
        for name, norm in (("rms_norm", rms_norm), ("jax.numpy", plain))
    }
  linear = jax.jit(lambda x, scale: jax.vjp(rms_norm, x, scale)[1])
  pull_backs = [linear(x, scale) for x in xs]
  return {
      "rms_norm": _variant(
          lambda pull_back, dy: pull_back(dy), pull_backs, dys
      ),
      "jax.numpy": _variant(_pull_back(plain), xs, scales, dys),
  }


def errors(inputs: Inputs, direction: str, results: Sequence) -> list[float]:
  """Returns the relative errors of the first call's results, by their norms.

  The definition is computed in float64, on the device.
  """
  with jax.enable_x64(True):
    args = [a.astype("float64") for a in (inputs.xs[0], inputs.scale)]
    if direction == "forward":
      wanted = [_definition(*args)]
    else:
      wanted = jax.jit(_both(_definition))(
          *args, inputs.dys[0].astype("float64")
      )
      wanted = wanted[direction == "backward" :]
    return [
        float(_relative_error(got, want))
        for got, want in zip(results, wanted, strict=True)
    ]


@jax.jit
def _definition(x, scale):
  return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


@jax.jit
def _relative_error(got, want):
  return jnp.linalg.norm(got.astype(want.dtype) - want) / jnp.linalg.norm(want)
