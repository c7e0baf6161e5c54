# SPDX-License-Identifier: Apache-2.0
"""rms_norm on a GPU against jax.numpy, PyTorch, torch.compile and Triton.

  python3 run.py bench [--columns=4096] [--dtype=bfloat16] [--direction=both]

Device time per call, in CUDA graphs, on random arrays that are not in the L2
where they are larger than 3 MB; see docs/performance.md. Bytes are those of x,
y, dy and dx once each (x twice in "both"); the share is of what a copy between
arrays of the same shape reaches in the same rounds. All variants are checked
before they are timed.
"""

import argparse
import datetime
import platform
import sys

import jax

import gpu_timing
import rms_norm_gpu_goals as goals
import rms_norm_gpu_peers as peers
import rms_norm_gpu_programs as programs

_SMALL_SHAPES = ((8, 4), (128, 512))
_SHAPES = (
    *_SMALL_SHAPES,
    *((4096, 512), (2048, 4096), (64, 65536), (8192, 4096), (16384, 8192)),
    # As many elements in rows of every width.
    *((65536, 1024), (32768, 2048), (16384, 4096), (8192, 8192)),
    *((4096, 16384), (2048, 32768), (1024, 65536), (512, 131_072)),
    *((256, 262_144), (64, 262_144), (65536, 8192)),
)
_DTYPES = ("bfloat16", "float32")
_ERRORS = {"bfloat16": 1e-2, "float32": 1e-5}


def _check(name, variant, inputs, dtype, direction):
  found = programs.errors(inputs, direction, variant.first())
  for error in found:
    if not error <= _ERRORS[dtype]:
      sys.exit(f"{name} is wrong, {direction}: relative errors {found}")


def _measure(shape, dtype, direction, rounds):
  inputs = programs.make_inputs(shape, dtype, direction)
  variants = programs.variants(inputs, direction)
  variants |= peers.variants(inputs, direction)
  for name, variant in variants.items():
    _check(name, variant, inputs, dtype, direction)
  timed = {name: variant.program for name, variant in variants.items()}
  timed["copy"] = programs.copy(inputs).program
  timings = gpu_timing.interleave(timed, rounds)
  x_bytes = inputs.xs[0].nbytes
  ours = timings["rms_norm"]
  share = programs.streams(direction) / 2 * timings["copy"].ratio
  others = {
      name: timing.ratio
      for name, timing in timings.items()
      if name not in ("rms_norm", "copy")
  }
  line = goals.Line(shape, direction, x_bytes, ours.seconds, share, others)
  _print(line, dtype, max(t.on_host for t in timings.values()))
  return line


def _print(line, dtype, on_host):
  best = min(line.speed_ups, key=line.speed_ups.get)
  moved = programs.streams(line.direction) * line.x_bytes
  print(
      f"{line.shape[0]:>6} x {line.shape[1]:<7}{dtype:<9}{line.direction:<9}"
      f"{line.seconds * 1e6:>9.2f}{moved / 2**20:>10.1f}{line.share:>7.2f}"
      f"{line.speed_ups[best]:>7.2f} {best:<10}"
      f"{', '.join(goals.missed(line)) or 'met'}"
      # The host was never ahead of the device: its time is what was measured.
      f"{' (host-bound)' if on_host > 0.9 else ''}",
      flush=True,
  )


def _choose(parser, name, choices, kind):
  parser.add_argument(
      f"--{name}", action="append", type=kind, choices=sorted(set(choices))
  )


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--repeats", type=int, default=15)
  parser.add_argument("--small", action="store_true", help="small arrays only")
  _choose(parser, "columns", [columns for _, columns in _SHAPES], int)
  _choose(parser, "dtype", _DTYPES, str)
  _choose(parser, "direction", programs.DIRECTIONS, str)
  options = parser.parse_args()

  device = jax.devices()[0]
  print(
      f"{datetime.date.today()}, {device.device_kind},"
      f" {device.client.platform_version.splitlines()[0]}, jax"
      f" {jax.__version__}, Python {platform.python_version()}"
  )
  if jax.default_backend() != "gpu":
    print("Without a GPU these numbers say nothing but that this runs.")
  for why in peers.missing():
    print(f"Not compared: {why}.")
  print(
      "  rows x columns dtype    pass            us       MiB   copy   peer"
      " (best)    goals"
  )
  lines = [
      _measure(shape, dtype, direction, options.repeats)
      for shape in (_SMALL_SHAPES if options.small else _SHAPES)
      for dtype in options.dtype or _DTYPES
      for direction in options.direction or programs.DIRECTIONS
      if not options.columns or shape[1] in options.columns
  ]
  print(goals.flatness(lines))
  count = sum(not goals.missed(line) for line in lines)
  print(f"{count} of {len(lines)} lines meet their goals (those of an H200).")


if __name__ == "__main__":
  main()
