# SPDX-License-Identifier: Apache-2.0
"""Calls ops on arrays so long that several threads share one.

  long_arrays.py bits

prints a digest of the results, and the number of XLA's threads: that of the
variable NPROC.

  long_arrays.py memory OP

calls one with less memory than it needs, and then with enough.
"""

import hashlib
import resource
import sys

import jax
import jax.numpy as jnp
import numpy as np

import jax_ffi_ops
from jax_ffi_ops import kit

_MIB = 2**20
_OPS = {
    "sort": jax_ffi_ops.sort,
    "argsort": lambda x: jax_ffi_ops.argsort(x, descending=True),
    "partition": lambda x: jax_ffi_ops.partition(x, x.size // 3),
    "argpartition": lambda x: jax_ffi_ops.argpartition(x, x.size // 3),
    "top_k": lambda x: jax_ffi_ops.top_k(x, x.size // 4),
    "nonzero": lambda x: jax_ffi_ops.nonzero(x > 0, size=x.size),
}


def _array(size, dtype="float32"):
  rng = np.random.default_rng(size)
  x = rng.normal(size=size) * 50
  x[:: size // 100] = 0  # Ties.
  if dtype.startswith("float"):
    x[1 :: size // 100] = -0.0
    x[2 :: size // 100] = np.nan
  return jnp.asarray(x.astype(dtype))


def bits() -> None:
  found = hashlib.sha256()
  for size in (65_537, 300_001, 1_000_000):
    for dtype in ("float32", "int32", "float16", "int8"):
      for op in _OPS.values():
        for y in jax.tree.leaves(jax.jit(op)(_array(size, dtype))):
          found.update(np.asarray(y).tobytes())
  print(found.hexdigest())


def memory(op: str) -> None:
  x = _array(8 * _MIB)
  program = jax.jit(_OPS[op])
  expected = jax.tree.map(np.array, program(x))
  _, most = resource.getrlimit(resource.RLIMIT_AS)
  outcomes = set()
  for more in (4, 16, 40, 80, 120, 200, 400):
    with open("/proc/self/statm", encoding="utf-8") as file:
      now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + more * _MIB, most))
    try:
      y = jax.block_until_ready(program(x))
      outcomes.add("result")
    except (jax.errors.JaxRuntimeError, ValueError) as error:
      if "out of memory" not in str(error).lower():
        raise
      y = None
      outcomes.add("error")
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for result in (y, program(x)):
      if result is not None:
        jax.tree.map(np.testing.assert_array_equal, result, expected)
    del y, result
  print(*sorted(outcomes))


if __name__ == "__main__":
  with kit.using("handler if served"):
    {"bits": bits, "memory": memory}[sys.argv[1]](*sys.argv[2:])
