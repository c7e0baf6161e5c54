# SPDX-License-Identifier: Apache-2.0
"""What the kit costs beyond a bare jax.ffi.ffi_call to the same target.

bazel run //benchmarks:overhead_benchmark -- --rounds=101
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import rms_norm
from jax_ffi_ops.timing import rounds

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


def _time(what, functions, count):
  timings = rounds.of_calls(functions, count)
  kit, plain = timings["kit"], timings["ffi_call"]
  print(
      f"{what:<32} kit {kit.seconds[1] * 1e6:>9.1f} us, ffi_call"
      f" {plain.seconds[1] * 1e6:>9.1f} us, speed-up {plain.speedup[1]:.2f}×"
  )


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--rounds", type=int, default=101)
  count = parser.parse_args().rounds
  x, scale = jnp.ones((8, 4)), jnp.ones(4)
  norms = {"kit": rms_norm, "ffi_call": bare}

  compiled = {name: jax.jit(norm) for name, norm in norms.items()}
  calls = {
      name: lambda norm=norm: norm(x, scale) for name, norm in compiled.items()
  }
  _time("dispatch of a compiled call", calls, count)

  def lowering(norm):
    return lambda: _lower_many(norm, x, scale) and ()

  lowerings = {name: lowering(norm) for name, norm in norms.items()}
  what = f"tracing and lowering {_CALLS} calls"
  _time(what, lowerings, max(1, count // 5))


if __name__ == "__main__":
  main()
