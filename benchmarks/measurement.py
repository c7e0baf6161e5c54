# SPDX-License-Identifier: Apache-2.0
"""One line of the benchmark: a pass of an op, its peers, and a copy."""

import functools
from typing import NamedTuple

import jax.numpy as jnp

import accuracy
import device_timing
import interleaving
import variants


class Line(NamedTuple):
  """A pass of an op, measured.

  Attributes:
    seconds: of a call.
    bandwidth: bytes per second, of those that must be moved.
    share: of a copy's bandwidth in the same rounds.
    peers: how many times as long each peer took.
    dropped: why others have no time.
    host_bound: whether the host was never ahead of the device, and its time is
      what was measured.
  """

  seconds: float
  bandwidth: float
  share: float
  peers: dict[str, float]
  dropped: dict[str, str]
  host_bound: bool

  def __str__(self):
    notes = [f"{name} {ratio:.2f}" for name, ratio in self.peers.items()]
    notes += [f"{name} dropped ({why})" for name, why in self.dropped.items()]
    notes += ["host-bound"] * self.host_bound
    return (
        f"{self.seconds * 1e6:>10.2f} us{self.bandwidth / 1e9:>8.1f} GB/s"
        f"{self.share:>6.0%} of copy; {', '.join(notes)}"
    )


def first_line(error: BaseException) -> str:
  """Returns what an error says, in short."""
  text = str(error).strip() or type(error).__name__
  return text.splitlines()[0]


def _check(errors, tolerance):
  """Raises RuntimeError if a result is inaccurate."""
  for error in errors:
    if not error <= tolerance:  # Nor NaN.
      raise RuntimeError(f"inaccurate, relative error {error:.1e}")


def _makers(entry, peers):
  """Returns what makes the variants of an op and its peers, by name."""
  makers = {"ours": functools.partial(variants.of_op, entry.function)}
  for name, function in entry.peers.items():
    makers[name] = functools.partial(variants.of_peer, function)
  others = [name for name in peers if name not in makers]
  if others:
    import torch_peers

    for name in others:
      if torch_peers.has(name, entry.torch):
        makers[name] = functools.partial(torch_peers.make, name, entry.torch)
  return {name: makers[name] for name in makers if name in ("ours", *peers)}


def measure(
    entry, shape, dtype, direction, *, peers, repeats, on_device, calls=None
) -> Line:
  """Measures a pass of an op beside its peers.

  Args:
    entry: an `Entry`.
    shape: rows and columns.
    dtype: of all operands.
    direction: one of `variants.DIRECTIONS`.
    peers: names. One that fails, is inaccurate or lacks memory is dropped.
    repeats: rounds.
    on_device: whether to time programs of many calls.
    calls: of such a program; by default as many as take long enough.

  Raises:
    RuntimeError: the op itself is inaccurate or cannot run.
  """
  x_bytes = shape[0] * shape[1] * jnp.dtype(dtype).itemsize
  moved = entry.moved(x_bytes, direction)
  calls = calls or device_timing.calls_per_program(moved)
  count = min(device_timing.rotation(moved), calls) if on_device else 1
  sets = entry.make_sets(shape, dtype, count)
  definition, *_ = entry.peers.values()

  def timed(variant):
    if not on_device:
      return variant.call
    program = variant.program(calls)
    program.wait(program.run())
    return program

  functions, dropped = {}, {}
  for name, make in _makers(entry, peers).items():
    try:
      variant = make(direction, sets)
      errors = accuracy.relative_errors(
          definition, direction, sets[0], variant.call()
      )
      _check(errors, accuracy.tolerance(shape, dtype))
      functions[name] = timed(variant)
    except Exception as error:  # Each library has its own.
      if name == "ours":
        raise
      dropped[name] = first_line(error)
  # XLA would leave out copies that follow each other; this moves as much.
  copy = jnp.negative if on_device else jnp.copy
  sources = [(operands[:1], ()) for operands, _ in sets]
  functions["copy"] = timed(variants.of_peer(copy, "forward", sources))

  timing = device_timing if on_device else interleaving
  timings = timing.interleave(functions, repeats)
  host_bound = on_device and max(t.on_host for t in timings.values()) > 0.9
  ours, copied = timings.pop("ours"), timings.pop("copy")
  return Line(
      seconds=ours.seconds,
      bandwidth=moved / ours.seconds,
      share=moved / (2 * x_bytes) * copied.ratio,
      peers={name: t.ratio for name, t in timings.items()},
      dropped=dropped,
      host_bound=host_bound,
  )
