# SPDX-License-Identifier: Apache-2.0
"""What is wanted of rms_norm on an H200, and what of it a measurement misses."""

from collections.abc import Mapping
from typing import NamedTuple

_LARGE = 64 * 2**20  # bytes of x: the memory alone decides
_SMALL = 2**18  # bytes of x: latency alone decides
_SHARES = {"forward": 0.95, "backward": 0.85}  # of a copy's bandwidth
_SMALL_SECONDS = 3e-6  # in a CUDA graph
_SPEED_UP_OF_BOTH = 2.0  # over jit-compiled jax.numpy
_BEST_PEER = 0.98  # never more than 2 % slower
_FLAT_COLUMNS = (1024, 262_144)


class Line(NamedTuple):
  """A measurement of ours.

  Attributes:
    shape: rows and columns.
    direction: see rms_norm_gpu_programs.py.
    x_bytes: size of x.
    seconds: per call.
    share: of the bandwidth of a copy.
    speed_ups: how many times as long each peer took.
  """

  shape: tuple[int, int]
  direction: str
  x_bytes: int
  seconds: float
  share: float
  speed_ups: Mapping[str, float]


def missed(line: Line) -> list[str]:
  """Returns the goals that a line misses."""
  misses = []
  share = _SHARES.get(line.direction, 0)
  if line.x_bytes >= _LARGE and line.share < share:
    misses.append(f"copy {line.share:.2f} < {share:.2f}")
  if line.direction == "both":
    if line.speed_ups["jax.numpy"] < _SPEED_UP_OF_BOTH:
      misses.append(f"jax.numpy {line.speed_ups['jax.numpy']:.2f} < 2")
  elif line.x_bytes <= _SMALL and line.seconds > _SMALL_SECONDS:
    misses.append(f"{line.seconds * 1e6:.1f} us > 3")
  peer = min(line.speed_ups, key=line.speed_ups.get)
  if line.speed_ups[peer] < _BEST_PEER:
    misses.append(f"{peer} {line.speed_ups[peer]:.2f} < {_BEST_PEER}")
  return misses


def flatness(lines: list[Line]) -> str:
  """Returns how much the forward pass depends on the number of columns."""
  first, last = _FLAT_COLUMNS
  shares = [
      line.share
      for line in lines
      if line.direction == "forward"
      and line.x_bytes >= _LARGE
      and first <= line.shape[1] <= last
  ]
  if not shares:
    return "No forward pass of 64 MiB and more was measured."
  return (
      f"Forward passes of 64 MiB and more, {first} to {last} columns:"
      f" {min(shares):.2f} to {max(shares):.2f} of a copy."
  )
