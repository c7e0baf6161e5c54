# SPDX-License-Identifier: Apache-2.0
"""One line of the benchmark: a pass of an op, its peers, and a copy."""

import fnmatch
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

import accuracy
import catalog
from jax_ffi_ops.timing import rounds
import programs
import streams
import variants

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


def first_line(error: BaseException) -> str:
  """Returns what an error says, in short."""
  text = str(error).strip() or type(error).__name__
  return text.splitlines()[0]


def _makers(case, direction, way):
  """Returns what makes the variants of an op and its peers, by name."""
  ours = case.function
  if way == "in_place":
    ours = functools.partial(ours, in_place=True)
  functions = {"ours": ours} | dict(case.peers)
  makers = {
      name: functools.partial(variants.of_function, function, direction)
      for name, function in functions.items()
  }
  if direction == "backward":
    makers["ours"] = functools.partial(variants.of_vjp, case.function)
    for name, function in case.peers.items():
      if name.startswith("jax.numpy"):
        makers[name + ", kept"] = functools.partial(variants.of_vjp, function)
  for name, function in case.libraries.items():
    make = catalog.MAKERS[name]
    makers[name] = functools.partial(make, name, function, direction)
  return makers


def _samplers(case, dtype, direction, way, sets, calls, peers):
  """Returns the samplers of an op and its peers, by name.

  Args:
    case: at a size.
    dtype: of the line, as are the next two.
    direction: the pass.
    way: of timing.
    sets: of operands and cotangents.
    calls: of a program for a GPU.
    peers: patterns of their names, or None for all.

  Returns:
    The samplers, the errors in ulps, and why other peers have none.
  """
  definition, *_ = case.peers.values()
  wanted = accuracy.wanted(definition, direction, *sets[0])
  shapes = [x.shape for x in jax.tree.leaves(sets[0])]
  found, ulps, dropped = {}, {}, {}
  for name, make in _makers(case, direction, way).items():
    meant = peers is None or any(fnmatch.fnmatch(name, p) for p in peers)
    if name != "ours" and not meant:
      continue
    try:
      variant = make(sets)
      if variant is None or way not in variant.samplers:
        continue
      error = accuracy.error(variant.call(), wanted)
      if not error.relative <= accuracy.tolerance(shapes, dtype):  # Nor NaN.
        raise RuntimeError(f"inaccurate, relative error {error.relative:.1e}")
      found[name] = variant.samplers[way](calls)
      ulps[name] = error.ulps
    except Exception as error:  # Each library has its own.
      if name == "ours":
        raise
      dropped[name] = first_line(error)
  return found, ulps, dropped


def _stream_samplers(name, way, sets, calls):
  """Returns those of copies, or of sums of two arrays; the fastest counts."""
  functions = {"copy": [jnp.negative], "add": [jnp.add]}[name]
  if way == "call":
    functions += {"copy": [jnp.copy, streams.copy], "add": [streams.add]}[name]
  if way == "program":
    functions += {"copy": [streams.copy], "add": [streams.add]}[name]
  largest = [max(operands, key=lambda x: x.nbytes) for operands, _ in sets]
  # A bool has no negative.
  largest = [x.astype("int8") if x.dtype == bool else x for x in largest]
  operands = [(x, -x) if name == "add" else (x,) for x in largest]
  return {
      f"{name} {i}": variants.of_function(
          function, "forward", [(xs, ()) for xs in operands]
      ).samplers[way](calls)
      for i, function in enumerate(functions)
  }


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
  samplers, ulps, dropped = _samplers(
      case, dtype, direction, way, sets, calls, peers
  )
  # For a GPU, of a copy alone: a negation, since XLA would leave out copies.
  stream = "copy" if streams <= 2 or way == "device" else "add"
  samplers |= _stream_samplers(stream, way, sets, calls)
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
