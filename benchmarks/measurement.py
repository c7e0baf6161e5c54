# SPDX-License-Identifier: Apache-2.0
"""One line of the benchmark: a pass of an op, its peers, and a copy."""

from typing import NamedTuple

import contenders
import programs
import timing

TIMINGS = ("call", "program", "in_place", "device")


class Line(NamedTuple):
  """A pass of an op, measured.

  Attributes:
    bytes: of the largest operand.
    seconds: of a call.
    bandwidth: bytes per second, of those that must be moved.
    share: of the bandwidth of `stream` in the same rounds.
    stream: "copy", or "add" of two arrays where more is moved.
    peers: how many times as long each peer took.
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
        f"{name} {ratio:.2f} ({self.ulps[name]:.1f})"
        for name, ratio in self.peers.items()
    ]
    notes += [f"{name} dropped ({why})" for name, why in self.dropped.items()]
    notes += ["host-bound"] * self.host_bound
    return (
        f"{median * 1e6:>10.2f} us +-{spread:<4.0%}"
        f"{self.bandwidth / 1e9:>7.1f} GB/s{self.share:>6.0%} of {self.stream}"
        f" ({self.ulps['ours']:.1f} ulps); {', '.join(notes)}"
    )


def measure(
    entry, size, dtype, direction, way, *, peers=None, rounds, calls=None
) -> Line:
  """Measures a pass of an op beside its peers.

  Args:
    entry: an `Entry`.
    size: such as "128x512".
    dtype: of operands.
    direction: one of `entry.passes`.
    way: one of `TIMINGS`.
    peers: patterns of names; by default all. A peer that fails, is inaccurate
      or lacks memory is dropped.
    rounds: how often each is timed.
    calls: of a program for a GPU; by default as many as take long enough.

  Raises:
    RuntimeError: the op itself is inaccurate or cannot run.
  """
  entry = entry.at(size)
  stream_bytes = entry.stream_bytes(size, dtype)
  count = entry.streams_of(direction)
  moved = count * stream_bytes
  if way == "device":
    calls = calls or programs.graph_calls(moved)
    sets = entry.make_sets(size, dtype, min(programs.graph_sets(moved), calls))
  else:
    sets = entry.make_sets(size, dtype, 1)
  samplers, ulps, dropped = contenders.samplers(
      entry, dtype, direction, way, sets, calls, peers
  )
  # For a GPU, of a copy alone: a negation, since XLA would leave out copies.
  stream = "copy" if count <= 2 or way == "device" else "add"
  samplers |= contenders.stream_samplers(stream, way, sets, calls)
  timings = timing.interleave(samplers, rounds)
  host_bound = max(t.on_host for t in timings.values()) > 0.9
  streamed = min(
      (timings.pop(name) for name in samplers if name not in ulps),
      key=lambda t: t.ratio,
  )
  ours = timings["ours"]
  return Line(
      bytes=stream_bytes,
      seconds=ours.seconds[1],
      bandwidth=moved / ours.seconds[1],
      share=count / {"copy": 2, "add": 3}[stream] * streamed.ratio,
      stream=stream,
      peers={n: t.ratio for n, t in timings.items() if n != "ours"},
      quartiles={
          name: t.seconds for name, t in (timings | {stream: streamed}).items()
      },
      ulps=ulps,
      dropped=dropped,
      host_bound=way == "device" and host_bound,
  )
