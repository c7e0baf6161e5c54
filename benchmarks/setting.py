# SPDX-License-Identifier: Apache-2.0
"""Runs a program at a level of x86-64, with so many threads, with some heap.

  setting.py [--level=1|3|4] [--threads=N] [--heap=clean|default] COMMAND ...

Our kernels, XLA, PyTorch with its oneDNN, and NumPy are all held to the level.
What is left out stays as it is. With Bazel:

  bazel test --run_under="//benchmarks:setting --level=3" //tests/...
"""

import argparse
from collections.abc import Mapping
import os
import sys
import tempfile
from typing import NamedTuple

# By level: the variable of our kernels is the level itself. XLA's is a flag, and
# NumPy's names what is left out.
_LEVELS = {
    1: {
        "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    },
    3: {
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    },
    4: {},  # As the libraries choose.
}
# As jax_ffi_ops.keep_freed_memory(): a large result does not pay for fresh pages
# in each call.
_CLEAN_HEAP = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(2**34),
    "MALLOC_ARENA_MAX": "1",
}
_OF_HEAPS = {*_CLEAN_HEAP, "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"}


class Setting(NamedTuple):
  """What a process is started with; None is as it is.

  Attributes:
    level: of x86-64: 1, 3 or 4.
    threads: how many cores it may use, and threads of PyTorch.
    heap: "clean", without fresh pages in each call, or "default".
  """

  level: int | None = None
  threads: int | None = None
  heap: str | None = None

  def environment(self, old: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment variables."""
    new = dict(old)
    if self.level:
      changed = dict(_LEVELS[self.level])
      # PyTorch 2.13 would run what it has compiled for another level, wrongly.
      cache = f"torchinductor_level{self.level}"
      changed["TORCHINDUCTOR_CACHE_DIR"] = f"{tempfile.gettempdir()}/{cache}"
      if flags := changed.pop("XLA_FLAGS", None):
        new["XLA_FLAGS"] = f"{old.get('XLA_FLAGS', '')} {flags}".strip()
      new |= changed | {"XLA_FFI_OPS_CPU_LEVEL": str(self.level)}
    if self.threads:
      new["OMP_NUM_THREADS"] = str(self.threads)
    if self.heap:
      new = {name: new[name] for name in new if name not in _OF_HEAPS}
    if self.heap == "clean":
      new |= _CLEAN_HEAP
    return new

  def arguments(self) -> list[str]:
    """Returns those of this program."""
    named = self._asdict().items()
    return [f"--{name}={value}" for name, value in named if value]


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("--level", type=int, choices=_LEVELS)
  parser.add_argument("--threads", type=int)
  parser.add_argument("--heap", choices=("clean", "default"))
  parser.add_argument("command", nargs=argparse.REMAINDER)
  options = parser.parse_args()
  setting = Setting(options.level, options.threads, options.heap)
  if setting.threads:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < setting.threads:
      sys.exit(f"setting.py: {setting.threads} threads, but {len(cores)} cores")
    # XLA's pool has a thread for each core that it may use.
    os.sched_setaffinity(0, cores[: setting.threads])
  os.execvpe(
      options.command[0], options.command, setting.environment(os.environ)
  )


if __name__ == "__main__":
  main()
