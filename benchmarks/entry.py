# SPDX-License-Identifier: Apache-2.0
"""What the benchmark knows of an op: `ENTRY` of ops/<op>.py."""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import functools
import importlib.util
import math
import pathlib
import sys
from typing import Any

import jax.numpy as jnp

import operands
from operands import Operand

_FOLDER = pathlib.Path(__file__).with_name("ops")


@dataclasses.dataclass(frozen=True)
class Entry:
  """An op, and what it is compared with.

  Attributes:
    function: the op.
    operands: from the integers of a size, what it is called with.
    sizes: names of sizes, such as "128x512", from small to large. Tests take the
      first one. The last one is in docs/measurements.md.
    streams: the passes, "forward" and maybe "backward": how many arrays as large
      as the largest operand each has to read and write.
    peers: the same in jax.numpy, in the forms that XLA compiles best. The first
      is the definition, too: of float64 operands it computes in float64.
    libraries: the same by other libraries, of libraries.py: functions of the
      library's module and its arrays.
    attributes: from the integers of a size, keywords for all these functions.
    dtypes: of operands that have none of their own.
    gpu_sizes: more sizes, for a GPU.
    in_place: whether calls take `in_place`, and results can be operands.
  """

  function: Callable
  operands: Callable[..., Sequence[Operand]]
  sizes: Sequence[str]
  streams: Mapping[str, float]
  peers: Mapping[str, Callable]
  libraries: Mapping[str, Callable] = dataclasses.field(default_factory=dict)
  attributes: Callable[..., Mapping[str, Any]] = lambda *size: {}
  dtypes: Sequence[str] = ("float32", "bfloat16", "float16")
  gpu_sizes: Sequence[str] = ()
  in_place: bool = False

  @property
  def passes(self) -> list[str]:
    return (
        [*self.streams, "both"] if "backward" in self.streams else ["forward"]
    )

  def at(self, size: str) -> "Entry":
    """Returns the entry whose functions have the attributes of a size."""
    bind = lambda functions: {
        name: functools.partial(function, **self.attributes(*numbers(size)))
        for name, function in functions.items()
    }
    return dataclasses.replace(
        self,
        peers=bind(self.peers),
        libraries=bind(self.libraries),
        **bind({"function": self.function}),
    )

  def stream_bytes(self, size: str, dtype: str) -> int:
    """Returns the bytes of the largest operand."""
    described = self.operands(*numbers(size))
    arrays = [x.abstract(dtype) for x in described]
    return max(math.prod(x.shape) * jnp.dtype(x.dtype).itemsize for x in arrays)

  def streams_of(self, direction: str) -> float:
    if direction == "both":
      return sum(self.streams.values())
    return self.streams[direction]

  def make_sets(self, size: str, dtype: str, count: int):
    """Returns random operands and cotangents: operands.make_sets."""
    described = self.operands(*numbers(size))
    return operands.make_sets(described, self.at(size).function, dtype, count)


def numbers(size: str) -> tuple[int, ...]:
  """Returns the integers of a size."""
  return tuple(map(int, size.split("x")))


def names() -> list[str]:
  """Returns the ops that have an entry."""
  return sorted(file.stem for file in _FOLDER.glob("*.py"))


def load(name: str) -> Entry:
  """Returns the entry of an op."""
  spec = importlib.util.spec_from_file_location(
      f"benchmark_of_{name}", _FOLDER / f"{name}.py"
  )
  module = importlib.util.module_from_spec(spec)
  # torch.compile imports the module of a function that has global variables.
  sys.modules[spec.name] = module
  spec.loader.exec_module(module)
  return module.ENTRY
