# SPDX-License-Identifier: Apache-2.0
"""Makes random direct calls of ops' CPU handlers, until one is wrong.

A call that touches what it must not ends the process.
"""

import ctypes
import math
import mmap
import os
import random
import sys
import time

from guarded import Memory
from guarded import SIZE
import jax
import jax.numpy as jnp
import numpy as np
from own_case import own_case
import random_calls

from jax_ffi_ops.kit.testing.direct import runtime
from jax_ffi_ops.kit.testing.direct.contract import targets
from jax_ffi_ops.kit.testing.direct.expected import Definition

# So many draws in turn have the same dtypes, cores and attributes: jax traces
# each choice of these.
_GROUP = 50
# So many calls are made of each right one. They are cheap: most are refused.
_MUTATED = 19
# The share of the calls that are compared with the definition, which takes
# several times as long as all else.
_COMPARED = 1 / 4


class Fuzzer:
  """Draws of calls of one op: each depends on its index and the seed alone."""

  def __init__(self, name: str, seed: int):
    jax.config.update("jax_enable_x64", True)
    self._seed = name, seed
    self._cases = random_calls.cases(own_case(name))
    self._runtime = runtime.Runtime()
    self._operands = Memory(mmap.PROT_READ)
    self._results = Memory(mmap.PROT_READ | mmap.PROT_WRITE)
    rng = np.random.default_rng(0)
    self._numbers = rng.normal(size=2 * SIZE)
    self._bytes = np.frombuffer(rng.bytes(2 * SIZE), np.uint8)

  def run(self, calls: range, seconds: float, report: int) -> None:
    """Makes calls, and writes the draw of each into `report` before."""
    end = time.monotonic() + seconds
    group = count = 0
    for count, index in enumerate(calls, 1):
      if count == 1 or index // _GROUP != group:
        group = index // _GROUP
        rng = self._rng("group", group)
        case = random_calls.sized(rng.choice(self._cases), rng)
        self._definition = Definition(case)
        self._targets = targets(case)
        self._library = ctypes.CDLL(case.op.library.path)
      os.pwrite(report, f"{self._seed[0]} {index:<20}".encode(), 0)
      for frame, problem in self._calls(self._rng("call", index)):
        if problem or len(calls) == 1:
          print(frame, problem or "", sep="\n", file=sys.stderr, flush=True)
        if problem:
          sys.exit(1)
      if time.monotonic() > end:
        break
    print(f"{self._seed[0]}: {count} draws")

  def _rng(self, *parts):
    return random.Random(repr((*self._seed, *parts)))

  def _calls(self, rng):
    """Yields each call before it is made, and then with what is wrong."""
    target = rng.choice(self._targets)
    right = random_calls.right(target, rng)
    if _fits(right):
      yield right, None
      yield right, self._problem(rng, target, right, True, True)
    for _ in range(_MUTATED):
      other = random_calls.mutated(right, rng)
      if _fits(other):
        allowed = random_calls.may_be(target, other, right)
        yield other, None
        yield other, self._problem(rng, target, other, allowed, False)

  def _problem(self, rng, target, frame, allowed, required):
    compared = allowed and self._is_defined(target, frame)
    compared = compared and rng.random() < _COMPARED
    operands, arrays = _place(self._operands, frame.operands, rng)
    results, got = _place(self._results, frame.results, rng)
    if compared or required:
      for x in arrays.values():
        first = rng.randrange(SIZE)
        if compared or not jnp.issubdtype(x.dtype, jnp.floating):
          flat = self._numbers[first : first + x.size].astype(x.dtype)
          x[...] = flat.reshape(x.shape)
        else:
          x.reshape(-1).view(np.uint8)[...] = self._bytes[first:][: x.nbytes]
      for x in got.values():
        x.reshape(-1).view(np.uint8)[...] = 0xFF  # NaN, if nothing is written.
    handler = self._library[target.name + "_cpu"]
    error = self._runtime.call(
        handler, operands, results, frame.attributes, rng
    )
    if error is None:
      if allowed is False:
        return "has to be refused."
      return compared and self._wrong_result(target, frame, arrays, got)
    named = error.message.startswith(target.name + ": ")
    if required or not named or error.code != runtime.INVALID_ARGUMENT:
      return f"is refused with {error}"
    return None

  def _is_defined(self, target, frame):
    """Returns whether the results follow from any numbers in the operands."""
    if not all(max(b.shape, default=0) <= SIZE for b in frame.buffers.values()):
      return False  # NumPy has no such array.
    return self._definition.author(target) is not None

  def _wrong_result(self, target, frame, arrays, got):
    try:
      expected = self._definition.results(target, frame, arrays)
    except (IndexError, TypeError, ValueError):
      if 0 in sum(target.cores.values(), ()):
        return None  # There is none, as of the maximum of nothing.
      raise
    problems = (
        want.problem(x) and f"{name} {want.problem(x)}"
        for (name, x), want in zip(got.items(), expected)
    )
    return next(filter(None, problems), None)


def _size(b):
  return math.prod(b.shape) * np.dtype(b.dtype).itemsize


def _fits(frame):
  return all(_size(b) <= SIZE for b in frame.buffers.values())


def _place(memory, buffers, rng):
  """Returns buffers with their addresses, and the arrays that are there."""
  placed, arrays = [], {}
  for i, (name, b) in enumerate(buffers.items()):
    address, own = memory.place(i, _size(b), at_end=rng.random() < 0.5)
    if not own.size:
      address = rng.choice((address, None))
    placed.append((b, address))
    small = max(b.shape, default=0) <= SIZE
    arrays[name] = own.view(b.dtype).reshape(b.shape if small else (-1,))
  return placed, arrays


def main() -> None:
  names, seed, first, end, seconds, report = sys.argv[1:]
  calls = range(int(first), int(end))
  for name in names.split(","):
    with open(report, "w+b") as file:
      Fuzzer(name, int(seed)).run(calls, float(seconds), file.fileno())


if __name__ == "__main__":
  main()
