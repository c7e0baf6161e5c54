# SPDX-License-Identifier: Apache-2.0
"""Times ops and their peers: forward, backward, and both in one program.

  bazel run //benchmarks:benchmark -- --op=rms_norm --shapes=4096x512,64x65536

A line has the median time of a call, the bandwidth that this is for the arrays
that have to be moved, its share of a copy's bandwidth in the same rounds, and
how many times as long each peer took. Options with an S take lists with commas.
"""

import argparse
import datetime
import itertools
import platform

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
  return torch_peers.NAMES


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


def main():
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
  lines = itertools.product(
      options.op,
      [tuple(map(int, shape.split("x"))) for shape in options.shapes],
      options.dtype,
      options.direction,
      options.timing,
  )
  lines = [
      line
      for line in lines
      if options.rows == [""] or str(line[1][0]) in options.rows
      if options.columns == [""] or str(line[1][1]) in options.columns
  ]
  for op, shape, dtype, direction, timing in lines[shard - 1 :: shards]:
    found = entry.load(op)
    peers = (*found.peers, *torch)
    text = measurement.measure(
        found,
        shape,
        dtype,
        direction,
        peers=[p for p in peers if options.peers == [""] or p in options.peers],
        repeats=options.repeats,
        on_device=timing == "device",
        calls=options.calls,
    )
    size = "x".join(map(str, shape))
    print(f"{op:<12}{size:>12} {dtype:<8} {direction:<8}{text}", flush=True)


if __name__ == "__main__":
  main()
