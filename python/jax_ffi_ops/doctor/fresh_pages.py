# SPDX-License-Identifier: Apache-2.0
"""Measures what fresh pages cost large results, for the doctor's report."""

from collections.abc import Iterator, Mapping
import os
import resource
import statistics
import time

import jax
import jax.numpy as jnp

from jax_ffi_ops.doctor import isolated

# Not below 32, and more than fits into a heap of one of XLA's threads.
_MIB = 64
# Up to glibc 2.37, the heap grows in the first calls: the last ones count.
_CALLS = 30
_COUNTED = 9
_FACTOR = 4  # What helps has fewer faults by much more than this.

# The first one that helps is told. It keeps no memory.
_TUNABLES = "GLIBC_TUNABLES"
_SETTINGS = (
    {_TUNABLES: "glibc.malloc.hugetlb=1"},
    {
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": "17179869184",
        "MALLOC_ARENA_MAX": "1",
    },
)


def large_result() -> Iterator[tuple[float, float]]:
  """Yields page faults and milliseconds of a call of one of XLA's programs."""
  x = jnp.zeros(_MIB << 18, jnp.float32)
  program = jax.jit(lambda x: x + 1)

  def measure():
    faults, start = _faults(), time.perf_counter()
    jax.block_until_ready(program(x))
    return _faults() - faults, (time.perf_counter() - start) * 1e3

  measured = [measure() for _ in range(_CALLS)]
  faults, milliseconds = zip(*measured[-_COUNTED:])
  yield statistics.median(faults), min(milliseconds)


def _faults():
  return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def sentence(seconds: float) -> str:
  """Tells what a large result costs here, and which variables make it cheaper.

  Args:
    seconds: how long a measurement may take.

  Returns:
    A sentence; or nothing, if nothing could be measured.
  """
  told = ""
  try:
    faults, milliseconds = _measured({}, seconds)
    told = f"A result of {_MIB} MiB on the CPU takes {faults:.0f} page faults"
    told += f" and {milliseconds:.1f} ms"
    if here := {name: os.environ[name] for name in _names()}:
      told += f" with {_line(here)}"
    if faults * resource.getpagesize() < (_MIB << 20) / _FACTOR:
      return told
    for setting in _SETTINGS:
      if ours := os.environ.get(_TUNABLES) and setting.get(_TUNABLES):
        setting = {_TUNABLES: f"{os.environ[_TUNABLES]}:{ours}"}
      fewer, milliseconds = _measured(setting, seconds)
      if fewer < faults / _FACTOR:
        return (
            f"{told}; if you set {_line(setting)} before Python starts, it"
            f" takes {fewer:.0f} and {milliseconds:.1f} ms"
        )
  except isolated.Ended:
    pass
  return told


def _measured(setting, seconds):
  (measured,) = isolated.messages(
      "jax_ffi_ops.doctor.fresh_pages",
      "large_result",
      seconds=seconds,
      variables={"JAX_PLATFORMS": "cpu"} | setting,
  )
  return measured


def _names():
  names = {name for setting in _SETTINGS for name in setting}
  return sorted(name for name in names if os.environ.get(name))


def _line(setting: Mapping[str, str]) -> str:
  return " ".join(f"{name}={value}" for name, value in setting.items())


if __name__ == "__main__":
  isolated.tell(large_result)
