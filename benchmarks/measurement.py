# SPDX-License-Identifier: Apache-2.0
"""One line of the benchmark: a pass of an op, its peers, and a copy."""

from typing import NamedTuple

import contenders
from jax_ffi_ops.timing import rounds
import programs

TIMINGS = ("call", "program", "in_place", "device")


class Line(NamedTuple):
  """A pass of an op, measured.

  Attributes:
    bytes: of the largest operand.
    seconds: of a call.
    bandwidth: bytes per second, of those that must be moved.
    share: of the bandwidth of `stream` in the same rounds.
    stream: "copy", or "add" of two arrays where more is moved.
    peers: how many times as fast as each peer it is.
    quartiles: of the seconds of each: first, median and third.
    ulps: the largest error of each.
    dropped: why others have no time.
    host_bound: whether the host was never ahead of the device, and its time is
      what was measured.
  """

  bytes: int
  seconds: float
  bandwidth: float
  share: float
  stream: str
  peers: dict[str, float]
  quartiles: dict[str, tuple[float, float, float]]
  ulps: dict[str, float]
  dropped: dict[str, str]
  host_bound: bool

  def __str__(self):
    first, median, third = self.quartiles["ours"]
    spread = (third - first) / median / 2
    notes = [
        f"{name} {speedup:.2f}× ({self.ulps[name]:.1f})"
        for name, speedup in self.peers.items()
    ]
    notes += [f"{name} dropped ({why})" for name, why in self.dropped.items()]
    notes += ["host-bound"] * self.host_bound
    return (
        f"{median * 1e6:>10.2f} us +-{spread:<4.0%}"
        f"{self.bandwidth / 1e9:>7.1f} GB/s{self.share:>6.0%} of {self.stream}"
        f" ({self.ulps['ours']:.1f} ulps); {', '.join(notes)}"
    )


def measure(
    case, size, dtype, direction, way, *, peers=None, count, calls=None
) -> Line:
  """Measures a pass of an op beside its peers.

  Args:
    case: a `Timed`.
    size: such as "128x512".
    dtype: of operands.
    direction: one of `case.passes`.
    way: one of `TIMINGS`.
    peers: patterns of names; by default all. A peer that fails, is inaccurate
      or lacks memory is dropped.
    count: of rounds: how often each is timed.
    calls: of a program for a GPU; by default as many as take long enough.

  Raises:
    RuntimeError: the op itself is inaccurate or cannot run.
  """
  case = case.at(size)
  stream_bytes = case.stream_bytes(size, dtype)
  streams = case.streams_of(direction)
  moved = streams * stream_bytes
  if way == "device":
    calls = calls or programs.graph_calls(moved)
    sets = case.make_sets(size, dtype, min(programs.graph_sets(moved), calls))
  else:
    sets = case.make_sets(size, dtype, 1)
  samplers, ulps, dropped = contenders.samplers(
      case, dtype, direction, way, sets, calls, peers
  )
  # For a GPU, of a copy alone: a negation, since XLA would leave out copies.
  stream = "copy" if streams <= 2 or way == "device" else "add"
  samplers |= contenders.stream_samplers(stream, way, sets, calls)
  timings = rounds.interleave(samplers, count)
  streamed = min(
      (timings.pop(name) for name in samplers if name not in ulps),
      key=lambda t: t.speedup[1],
  )
  ours = timings["ours"]
  return Line(
      bytes=stream_bytes,
      seconds=ours.seconds[1],
      bandwidth=moved / ours.seconds[1],
      share=streams / {"copy": 2, "add": 3}[stream] * streamed.speedup[1],
      stream=stream,
      peers={n: t.speedup[1] for n, t in timings.items() if n != "ours"},
      quartiles={
          name: t.seconds for name, t in (timings | {stream: streamed}).items()
      },
      ulps=ulps,
      dropped=dropped,
      host_bound=way == "device"
      and max(sampler.on_host for sampler in samplers.values()) > 0.9,
  )
