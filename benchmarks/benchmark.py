# SPDX-License-Identifier: Apache-2.0
"""Times ops and their peers: forward, backward, and both in one program.

  bazel run //benchmarks:benchmark -- --op=rms_norm --shapes=4096x512,64x65536

A line has the median time of a call, the bandwidth that this is for the arrays
that have to be moved, its share of a copy's bandwidth in the same rounds, and
how many times as long each peer took. Options with an S take lists with commas.
"""

import argparse
import datetime
import gc
import itertools
import json
import os
import platform
import sys
import traceback

import jax

import entry
import measurement
import variants

_CPU_SHAPES = "8x4,128x512,4096x512,2048x4096,64x65536"
_GPU_SHAPES = (
    _CPU_SHAPES
    # As many elements in rows of every width, and what is large.
    + ",65536x1024,32768x2048,16384x4096,8192x8192,4096x16384,2048x32768"
    ",1024x65536,512x131072,256x262144,64x262144"
    ",8192x4096,16384x8192,65536x8192"
)


def _torch_peers():
  try:
    import torch_peers
  except ImportError:
    print("Not compared with torch, which is not installed.")
    return ()
  return torch_peers.names()


def _parse(gpu):
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )

  def add_list(name, default, help):
    parser.add_argument(
        f"--{name}",
        type=lambda text: text.split(","),
        default=default.split(","),
        metavar="S",
        help=f"{help}; by default {default or 'all'}",
    )

  add_list("op", ",".join(entry.names()), "ops")
  add_list("shapes", _GPU_SHAPES if gpu else _CPU_SHAPES, "rows x columns")
  add_list("lines", "", "OP/SHAPE/DTYPE/PASS, in place of the options above")
  add_list("rows", "", "only shapes with these rows")
  add_list("columns", "", "only shapes with these columns")
  add_list("dtype", "float32,bfloat16,float16", "dtypes")
  add_list("direction", ",".join(variants.DIRECTIONS), "passes")
  add_list("peers", "", "by name, or none")
  add_list(
      "timing",
      "device" if gpu else "calls",
      "calls that are waited for, or device: many in one program",
  )
  parser.add_argument("--repeats", type=int, default=15, help="rounds")
  parser.add_argument("--calls", type=int, help="in a program")
  parser.add_argument("--shard", default="1/1", help="I/N: every N-th line")
  return parser.parse_args()


def _lines(options):
  """Returns op, shape, dtype, pass and timing of each line."""
  lines = [line.split("/") for line in options.lines if line]
  lines = lines or itertools.product(
      options.op, options.shapes, options.dtype, options.direction
  )
  found = []
  for (op, size, dtype, direction), timing in itertools.product(
      lines, options.timing
  ):
    rows, columns = size.split("x")
    if options.rows == [""] or rows in options.rows:
      if options.columns == [""] or columns in options.columns:
        found.append((op, (int(rows), int(columns)), dtype, direction, timing))
  return found


def _report(**result) -> bool:
  """Tells run.py's jobs.py, if that has started this, of a line that has ended."""
  if "RUN_PY_REPORT" not in os.environ:
    return False
  with open(os.environ["RUN_PY_REPORT"], "a", encoding="utf-8") as file:
    print(json.dumps(result), file=file)
  return True


def _measure(options, torch, op, shape, dtype, direction, timing):
  found = entry.load(op)
  peers = [
      peer
      for peer in (*found.peers, *torch)
      if options.peers == [""] or peer in options.peers
  ]
  return measurement.measure(
      found,
      shape,
      dtype,
      direction,
      peers=peers,
      repeats=options.repeats,
      on_device=timing == "device",
      calls=options.calls,
  )


def main() -> int:
  gpu = jax.default_backend() == "gpu"
  options = _parse(gpu)
  device = jax.devices()[0]
  print(
      f"{datetime.date.today()}, {device.device_kind},"
      f" {device.client.platform_version.splitlines()[0]}, jax"
      f" {jax.__version__}, Python {platform.python_version()}"
  )
  if "device" in options.timing and not gpu:
    print("Without a GPU, times of the device are those of the CPU.")
  torch = () if options.peers == ["none"] else _torch_peers()
  shard, shards = map(int, options.shard.split("/"))
  status = 0
  for line in _lines(options)[shard - 1 :: shards]:
    op, shape, dtype, direction, _ = line
    start = f"{op:<12}{'x'.join(map(str, shape)):>12} {dtype:<8} {direction:<8}"
    try:
      measured = _measure(options, torch, *line)
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
