# SPDX-License-Identifier: Apache-2.0
"""Times ops and their peers: forward, backward, and both in one program.

  bazel run //benchmarks:benchmark -- --lines=rms_norm/128x512,softmax/*/float32

A line is OP/SIZE/DTYPE/PASS/TIMING. Where it ends early or has a *, it stands
for all that there are; but TIMING is by default "call" (each is waited for), on
a GPU "device" (many in a CUDA graph). "program" is a loop of calls in a
program, and "in_place" a call that may overwrite its operands.

It has the median time of a call; the bandwidth that this is for the arrays that
have to be moved; its share of what a copy, or a sum of two arrays, has in the
same rounds; how many times as fast as each peer it is; and the largest error.
"""

import datetime
import fnmatch
import gc
import itertools
import json
import os
import platform
import sys
import time
import traceback

import jax

import catalog
from jax_ffi_ops import kit
from jax_ffi_ops.timing import rounds
import measurement
import options


def _parse():
  parser = options.parser(__doc__, rounds=15)
  parser.add_argument("--peers", type=options.names, help="with *; or none")
  parser.add_argument("--calls", type=int, help="in a program")
  parser.add_argument(
      "--tiny",
      action="store_true",
      help="of the lines, one of each op and pass, once: as a test",
  )
  return parser.parse_args()


def _tiny(op, direction):
  """Returns a line that tries what a case has."""
  known = catalog.CASES[op]
  return op, known.sizes[0], known.dtypes[-1], direction, "call"


def lines(patterns, gpu: bool) -> list[tuple[str, ...]]:
  """Returns op, size, dtype, pass and timing of each line that is meant."""

  def expand(pattern, known):
    if not set(pattern) & set("*?["):
      return [pattern]  # Any size will do.
    return fnmatch.filter(known, pattern)

  found = []
  for pattern in patterns:
    parts = pattern.split("/")
    ways = ["device" if gpu else "call"]
    if parts[4:]:
      ways = expand(parts[4], measurement.TIMINGS)
    op, size, dtype, direction = (parts + 4 * ["*"])[:4]
    for name in expand(op, catalog.CASES):
      if name not in catalog.CASES:
        sys.exit(f"No op {name!r}; there are {', '.join(catalog.CASES)}.")
      known = catalog.CASES[name]
      sizes = [*known.sizes, *(known.gpu_sizes if gpu else ())]
      found += itertools.product(
          [name],
          expand(size, sizes),
          expand(dtype, known.dtypes),
          expand(direction, known.passes),
          ways,
      )
  return found


def _report(**result) -> bool:
  """Tells jobs.py, if that has started this, of a line that has ended."""
  if "JOB_REPORT" not in os.environ:
    return False
  with open(os.environ["JOB_REPORT"], "a", encoding="utf-8") as file:
    print(json.dumps(result), file=file)
  return True


def main() -> int:
  asked = _parse()
  if asked.cpu_time:
    rounds.clock = time.process_time
  gpu = jax.default_backend() == "gpu"
  device = jax.devices()[0]
  print(
      f"{datetime.date.today()}, {device.device_kind},"
      f" {device.client.platform_version.splitlines()[0]}, jax"
      f" {jax.__version__}, Python {platform.python_version()}"
  )
  chosen = lines(asked.lines, gpu)
  if asked.tiny:
    each = dict.fromkeys((op, direction) for op, _, _, direction, _ in chosen)
    chosen, asked.rounds = [_tiny(*op) for op in each], 1
    rounds.SHORT = 0  # A call a sample: nobody reads its time.
  chosen = options.shard(chosen, asked.shard)
  if asked.tiny or asked.at_any_speed:
    with kit.using("handler if served"):
      return _measure(chosen, asked)
  return _measure(chosen, asked)


def _measure(chosen, asked) -> int:
  """Measures lines and prints them; returns the exit status."""
  status = 0
  for line in chosen:
    op, size, dtype, direction, way = line
    start = f"{op:<18}{size:>12} {dtype:<8} {direction:<8} {way:<7}"
    try:
      # Otherwise, jax would take 32 bits for them.
      with jax.enable_x64(jax.config.jax_enable_x64 or "64" in dtype):
        measured = measurement.measure(
            catalog.CASES[op],
            *line[1:],
            peers=asked.peers,
            count=asked.rounds,
            calls=asked.calls,
        )
    except Exception as error:  # Other lines may be well.
      traceback.print_exc()
      note = measurement.first_line(error)
      print(f"{start} FAILED: {note}", flush=True)
      if _report(status="failed", note=note, again=True):
        return 0  # A new process goes on: this one's device may be of no use.
      status = 1
    else:
      print(f"{start}{measured}", flush=True)
      note = str(measured).strip()
      _report(status="passed", note=note, **measured._asdict())
    gc.collect()  # What an error has kept.
  return status


if __name__ == "__main__":
  sys.exit(main())
