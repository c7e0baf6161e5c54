# SPDX-License-Identifier: Apache-2.0
"""The level of x86-64, as vec/cpu_level.h has it, and the number of threads."""

import functools
import os
import platform

VARIABLE = "XLA_FFI_OPS_CPU_LEVEL"
# What compilers call the levels.
NAMES = {1: "x86-64", 3: "x86-64-v3", 4: "x86-64-v4"}

# What Linux calls the extensions of a level; abm has lzcnt.
_V3 = frozenset("avx avx2 bmi1 bmi2 f16c fma abm movbe xsave".split())
_V4 = _V3 | frozenset("avx512f avx512bw avx512cd avx512dq avx512vl".split())


def _machine_level():
  if platform.machine() != "x86_64":
    return 0
  with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
    line = next((line for line in file if line.startswith("flags")), "")
  flags = frozenset(line.split())
  return 4 if _V4 <= flags else 3 if _V3 <= flags else 1


@functools.cache
def cpu_level() -> int:
  """Returns the level of x86-64 that the CPU kernels of this process use.

  It is the machine's level, or XLA_FFI_OPS_CPU_LEVEL if that is lower. With "1"
  or "3", tests and benchmarks run as on older machines. The variable is read
  once.

  Returns:
    4, with AVX-512; 3, with AVX2, FMA and F16C; or 1. On other processors 0.

  Raises:
    ValueError: the variable is not one of "1", "3" and "4".
  """
  highest = os.environ.get(VARIABLE, "4")
  if highest not in ("1", "3", "4"):
    raise ValueError(f"{VARIABLE} is {highest!r}, not '1', '3' or '4'")
  return min(_machine_level(), int(highest))


def threads() -> int:
  """Returns how many threads of this process can run at once."""
  return len(os.sched_getaffinity(0))
