# SPDX-License-Identifier: Apache-2.0
"""What scans cost if two CPU devices have a piece of each row, and not one.

The devices share the threads of the machine.

bazel run //benchmarks:split_benchmark -- --rounds=31
"""

import argparse
import itertools

import jax
import jax.numpy as jnp
from jax.sharding import AxisType
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from jax_ffi_ops import cumlogsumexp
from jax_ffi_ops import cummax
from jax_ffi_ops import cumsum
from jax_ffi_ops import linear_recurrence
from jax_ffi_ops.timing import rounds

_SPECS = {
    (2048, 2048): (P(None, "a"), P("a", None)),
    (1 << 24,): (P("a"),),
}


def _recurrence(a, b, axis):
  return linear_recurrence(a, b, axis=axis)


def _time(scan, operands, dtype, shape, spec, count):
  axis = spec.index("a")
  compiled = jax.jit(lambda *x: scan(*x, axis))
  calls = {}
  for name, devices in (("two", 2), ("one", 1)):
    mesh = jax.make_mesh(
        (devices,), ("a",), axis_types=(AxisType.Auto,),
        devices=jax.devices("cpu")[:devices],
    )  # fmt: skip
    sharding = NamedSharding(mesh, spec)
    x = [
        jax.device_put(jnp.full(shape, 0.5, dtype), sharding)
        for _ in range(operands)
    ]
    calls[name] = lambda x=x: compiled(*x)
  timings = rounds.of_calls(calls, count)
  one, two = timings["one"], timings["two"]
  print(
      f"{scan.__name__} of {dtype} {shape}, axis {axis}: one device"
      f" {one.seconds[1] * 1e3:.2f} ms, two {two.seconds[1] * 1e3:.2f} ms:"
      f" two are {one.speedup[1]:.2f}× as fast"
  )


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--rounds", type=int, default=31)
  count = parser.parse_args().rounds
  jax.config.update("jax_num_cpu_devices", 2)
  scans = ((cumsum, 1), (cummax, 1), (cumlogsumexp, 1), (_recurrence, 2))
  for (scan, operands), dtype, (shape, specs) in itertools.product(
      scans, ("float32", "bfloat16"), _SPECS.items()
  ):
    for spec in specs:
      _time(scan, operands, dtype, shape, spec, count)


if __name__ == "__main__":
  main()
