# SPDX-License-Identifier: Apache-2.0
"""Finds functions that are slower at a higher level of the CPU.

  bazel run //benchmarks:levels_benchmark -- --lines=sort,softmax/*/bfloat16

A line is FUNCTION/SIZE/DTYPE/PASS; what is missing, or is *, stands for all. The
sizes are those of the function's case, with all dtypes of the handler.

Each level has a process. They take turns, and a line has the median of the
speed-ups. Where a higher level is less than 0.8× as fast, it is measured three
times more. If it still is, the exit status is 1.
"""

from collections.abc import Iterator, Sequence
import operator
import os
import sys

import jax_ffi_ops
from jax_ffi_ops import kit
from jax_ffi_ops.doctor import isolated
from jax_ffi_ops.doctor import levels
from jax_ffi_ops.doctor import speeds
from jax_ffi_ops.kit import cpu
from jax_ffi_ops.timing.cases import CASES
import options

_SECONDS = 300  # For a line: level 1 is slow, and so is a busy machine.
_SHOWN = 10


def _dtypes(name) -> list[str]:
  """Returns those of a case, and of the op's handler."""
  try:
    ops = kit.ops_of(operator.attrgetter(name)(jax_ffi_ops))
  except TypeError:  # It does not say which ones it is made of.
    ops = ()
  allowed = ops[0].declaration.dtypes[0] if ops else kit.FLOATING
  return sorted({*CASES[name].dtypes, *(x.name for x in allowed or ())})


def all_lines() -> Iterator[str]:
  for name, case in CASES.items():
    for size in case.sizes:
      for dtype in _dtypes(name):
        yield from (f"{name}/{size}/{dtype}/{x}" for x in case.streams)


def chosen(patterns: Sequence[str]) -> list[str]:
  """Returns the lines that match; every pattern has to match one."""
  every = list(all_lines())
  found = []
  for pattern in patterns:
    matches = [line for line in every if options.fits(line, pattern)]
    if not matches:
      sys.exit(f"No line matches {pattern!r}.")
    found += matches
  return list(dict.fromkeys(found))


def _summarize(found) -> None:
  """Prints where a higher level is slowest."""
  worst = sorted(found, key=lambda pair: pair[0].speedup)[:_SHOWN]
  print(f"\nOf {len(found)} comparisons, the worst:")
  for pair, line in worst:
    print(f"{line:<50} {pair}")


def _parse():
  parser = options.parser(__doc__, rounds=5)
  parser.add_argument(
      "--levels", type=options.names, help="by default all: 4,3,1"
  )
  parser.add_argument(
      "--rehearse", action="store_true",
      help="a round of each line, whose times do not matter: as a test",
  )  # fmt: skip
  asked = parser.parse_args()
  if asked.rehearse:
    asked.rounds = 1
  return asked


def main() -> int:
  asked = _parse()
  lines = options.shard(chosen(asked.lines), asked.shard)
  wanted = sorted(map(int, asked.levels or levels.levels()), reverse=True)
  print(speeds.load(os.getloadavg()[0], cpu.threads()))
  found, failed = [], []
  with levels.workers(_SECONDS, wanted) as workers:
    for line in lines:
      try:
        pairs = levels.compare_line(
            workers,
            line,
            asked.rounds,
            asked.at_any_speed,
            asked.cpu_time,
        )
      except (isolated.Ended, ValueError) as error:
        failed.append(line)
        print(f"{line:<50} has no time: {error}", flush=True)
        continue
      found += [(pair, line) for pair in pairs]
      print(f"{line:<50} {', '.join(map(str, pairs))}", flush=True)
  if not asked.rehearse:
    failed += [line for pair, line in found if pair.fails]
  _summarize(found)
  print("Failed:", *(failed or ["none"]), sep="\n  ")
  return int(bool(failed))


if __name__ == "__main__":
  sys.exit(main())
