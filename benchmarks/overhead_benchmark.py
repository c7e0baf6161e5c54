# SPDX-License-Identifier: Apache-2.0
"""What the kit costs beyond a bare jax.ffi.ffi_call to the same target.

bazel run //benchmarks:overhead_benchmark -- --repeats=101
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np

import interleaving
from jax_ffi_ops import rms_norm

_TARGET = "xla_ffi_ops_rms_norm_fwd"
_CALLS = 100


def bare(x, scale):
  """rms_norm without the kit."""
  results = (
      jax.ShapeDtypeStruct(x.shape, x.dtype),
      jax.ShapeDtypeStruct(x.shape[:-1], x.dtype),
  )
  call = jax.ffi.ffi_call(_TARGET, results)
  return call(x, scale, eps=np.float64(1e-6), present=np.int64(3))[0]


def _lower_many(norm, x, scale):
  def many(x, scale):
    for _ in range(_CALLS):
      x = norm(x, scale)
    return x

  return jax.jit(many).lower(x, scale)


def _report(what, timings):
  kit, plain = timings["kit"], timings["ffi_call"]
  print(
      f"{what:<32} kit {kit.seconds * 1e6:>9.1f} us, ffi_call"
      f" {plain.seconds * 1e6:>9.1f} us, ratio {kit.ratio:.2f}"
  )


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--repeats", type=int, default=101)
  repeats = parser.parse_args().repeats
  x, scale = jnp.ones((8, 4)), jnp.ones(4)
  norms = {"ffi_call": bare, "kit": rms_norm}

  compiled = {name: jax.jit(norm) for name, norm in norms.items()}
  calls = {
      name: lambda norm=norm: norm(x, scale) for name, norm in compiled.items()
  }
  _report(
      "dispatch of a compiled call", interleaving.interleave(calls, repeats)
  )

  def lowering(norm):
    return lambda: _lower_many(norm, x, scale) and ()

  lowerings = {name: lowering(norm) for name, norm in norms.items()}
  _report(
      f"tracing and lowering {_CALLS} calls",
      interleaving.interleave(lowerings, max(1, repeats // 5)),
  )


if __name__ == "__main__":
  main()
