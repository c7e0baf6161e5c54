# SPDX-License-Identifier: Apache-2.0
"""Prints as JSON what arrays of 64 MiB cost a process: page faults, memory.

large_arrays.py [keep]
"""

import ctypes
import gc
import json
import resource
import statistics
import sys

import jax
import jax.numpy as jnp

import jax_ffi_ops

PAGES = (64 << 20) // resource.getpagesize()
_CALLS = 30  # If memory is kept, the heap first grows: in up to 14 calls.
_COUNTED = 9


def _programs(x):
  """Returns one of ours, and two of XLA's; the last has a small result."""
  between = lambda x: x.at[jnp.int32(x[0, 0])].add(1).sum()
  functions = (jax_ffi_ops.rms_norm, lambda x: x + 1, between)
  return [jax.jit(f).lower(x).compile() for f in functions]


def _faults(program, x):
  before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
  jax.block_until_ready(program(x))
  return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def _resident():
  """Returns the bytes of memory that the process has."""
  with open("/proc/self/statm", encoding="utf-8") as file:
    return int(file.read().split()[1]) * resource.getpagesize()


def main():
  kept = jax_ffi_ops.keep_freed_memory() if "keep" in sys.argv else None
  x = jnp.ones((16, 1 << 20))
  faults = []
  for program in _programs(x):
    counts = [_faults(program, x) for _ in range(_CALLS)]
    faults.append(statistics.median(counts[-_COUNTED:]))
  del x
  gc.collect()  # What jax.jit keeps of the arguments it was lowered for.
  freed = _resident()
  ctypes.CDLL(None).malloc_trim(0)
  print(json.dumps([kept, faults, freed, _resident()]))


if __name__ == "__main__":
  main()
