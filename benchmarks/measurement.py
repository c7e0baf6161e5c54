# SPDX-License-Identifier: Apache-2.0
"""One line of the benchmark: a pass of an op, its peers, and a copy."""

import functools

import jax
import jax.numpy as jnp

import device_timing
import interleaving
import variants


def _tolerance(shape, dtype):
  """Returns the relative error that rounding explains.

  A result is rounded, and so may be what it is made of. A sum of n terms in
  float32 errs by about sqrt(n) roundings, whatever the order.
  """
  single = float(jnp.finfo(jnp.float32).eps)
  return 2 * float(jnp.finfo(dtype).eps) + 2 * max(shape) ** 0.5 * single


@jax.jit
def _relative_error(got, want):
  return jnp.linalg.norm(got.astype(want.dtype) - want) / jnp.linalg.norm(want)


def _check(results, wanted, tolerance):
  """Raises RuntimeError if a result is inaccurate."""
  for got, want in zip(results, wanted, strict=True):
    with jax.enable_x64(True):
      error = float(_relative_error(got, want))
    if not error <= tolerance:  # Nor NaN.
      raise RuntimeError(f"inaccurate, relative error {error:.1e}")


def _definition(entry, direction, arrays):
  """Returns the results of the first peer in float64."""
  peer, *_ = entry.peers.values()
  with jax.enable_x64(True):
    wide = jax.tree.map(lambda x: x.astype("float64"), arrays)
    run = functools.partial(variants.run_pass, peer, direction)
    return jax.jit(run)(*wide)


def _makers(entry, peers):
  """Returns what makes the variants of an op and its peers, by name."""
  makers = {"ours": functools.partial(variants.of_op, entry.function)}
  for name, function in entry.peers.items():
    makers[name] = functools.partial(variants.of_peer, function)
  if entry.torch and any(name.startswith("torch") for name in peers):
    import torch_peers

    for name in torch_peers.NAMES:
      makers[name] = functools.partial(torch_peers.make, name, entry.torch)
  return {name: makers[name] for name in makers if name in ("ours", *peers)}


def measure(
    entry, shape, dtype, direction, *, peers, repeats, on_device, calls=None
):
  """Returns the text of a line, from the time on.

  Args:
    entry: an `Entry`.
    shape: rows and columns.
    dtype: of all operands.
    direction: one of `variants.DIRECTIONS`.
    peers: names. One that is inaccurate or runs out of memory is dropped.
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

  def timed(variant):
    if not on_device:
      return variant.call
    program = variant.program(calls)
    program.wait(program.run())
    return program

  wanted = _definition(entry, direction, sets[0])
  functions, notes = {}, []
  for name, make in _makers(entry, peers).items():
    try:
      variant = make(direction, sets)
      _check(variant.call(), wanted, _tolerance(shape, dtype))
      functions[name] = timed(variant)
    except RuntimeError as error:  # Such are errors of memory, too.
      if name == "ours":
        raise
      notes.append(f"{name} dropped ({str(error).strip().splitlines()[0]})")
  del wanted
  # XLA would leave out copies that follow each other; this moves as much.
  copy = jnp.negative if on_device else jnp.copy
  sources = [(operands[:1], ()) for operands, _ in sets]
  functions["copy"] = timed(variants.of_peer(copy, "forward", sources))

  timing = device_timing if on_device else interleaving
  timings = timing.interleave(functions, repeats)
  if on_device and max(t.on_host for t in timings.values()) > 0.9:
    # The host was never ahead of the device: its time is what was measured.
    notes.append("host-bound")
  ours, copied = timings.pop("ours"), timings.pop("copy")
  share = moved / (2 * x_bytes) * copied.ratio
  notes = [f"{name} {t.ratio:.2f}" for name, t in timings.items()] + notes
  return (
      f"{ours.seconds * 1e6:>10.2f} us{moved / ours.seconds / 1e9:>8.1f} GB/s"
      f"{share:>6.0%} of copy; {', '.join(notes)}"
  )
