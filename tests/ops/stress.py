# SPDX-License-Identifier: Apache-2.0
"""Calls all ops in many threads at a time.

  stress.py SECONDS CORES

ends with an error as soon as a result has other bits than the first one had. The
number of XLA's own threads is that of the variable NPROC.
"""

from concurrent import futures
import itertools
import os
import sys
import time

from own_case import own_case

import jax_ffi_ops
from jax_ffi_ops.kit.testing.direct import determinism

_THREADS = 16


def digest(op: str) -> str:
  return determinism.digest(own_case(op))


def main() -> None:
  seconds, cores = map(int, sys.argv[1:])
  os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
  # What is compiled is kept with the case.
  cases = [own_case(op) for op in jax_ffi_ops._ops()]
  expected = [determinism.digest(case) for case in cases]
  end = time.monotonic() + seconds

  def work(thread):
    turns = itertools.cycle(zip(cases, expected))
    for count, (case, bits) in enumerate(itertools.islice(turns, thread, None)):
      if time.monotonic() > end:
        return count
      if determinism.digest(case) != bits:
        raise ValueError(f"{case.op.name} has other bits")

  with futures.ThreadPoolExecutor(_THREADS) as pool:
    print(sum(pool.map(work, range(_THREADS))), "calls")


if __name__ == "__main__":
  main()
