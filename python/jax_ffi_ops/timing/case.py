# SPDX-License-Identifier: Apache-2.0
"""A function of ours, what jax has in its place, and what both are called with.

All that times functions reads the same cases. The cases of the package are in
`cases`; //benchmarks adds peers.
"""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp

import jax_ffi_ops
from jax_ffi_ops.timing import operands
from jax_ffi_ops.timing.operands import Array


@dataclasses.dataclass(frozen=True)
class Timed:
  """A function, and what it is compared with.

  Attributes:
    function: ours.
    peers: the same in jax, by name, in the forms that XLA compiles best. The
      first is the definition, too: of float64 operands it computes in float64.
    sizes: names of sizes, such as "128x512", from small to large. Tests take the
      first one.
    operands: from the integers of a size, what all these are called with; by
      default an array of this shape.
    typical: the size that the doctor times, for docs/measurements.md; by
      default the last one.
    attributes: from the integers of a size, keywords for all functions.
    dtypes: of operands that have none of their own. The doctor takes the first.
    streams: the passes, "forward" and maybe "backward": how many arrays as large
      as the largest operand each has to read and write.
    gpu_sizes: more sizes, for a GPU.
    in_place: whether calls take `in_place`, and results can be operands.
    libraries: the same by other libraries, by their names: functions of their
      arrays.
  """

  function: Callable[..., Any]
  peers: Mapping[str, Callable[..., Any]]
  sizes: Sequence[str]
  operands: Callable[..., Sequence[Array]] = lambda *shape: (
      operands.array(*shape),
  )
  typical: str = ""
  attributes: Callable[..., Mapping[str, Any]] = lambda *size: {}
  dtypes: Sequence[str] = ("float32", "bfloat16", "float16")
  streams: Mapping[str, float] = dataclasses.field(
      default_factory=lambda: {"forward": 2}  # an operand and a result
  )
  gpu_sizes: Sequence[str] = ()
  in_place: bool = False
  libraries: Mapping[str, Callable[..., Any]] = dataclasses.field(
      default_factory=dict
  )

  @property
  def passes(self) -> list[str]:
    return (
        [*self.streams, "both"] if "backward" in self.streams else ["forward"]
    )

  def at(self, size: str) -> "Timed":
    """Returns the case whose functions have the attributes of a size."""
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

  def make_operands(self, size: str, dtype: str) -> list[jax.Array]:
    """Returns random operands."""
    described = self.operands(*numbers(size))
    return [x.make(key, dtype) for x, key in zip(described, operands.keys())]

  def make_sets(
      self, size: str, dtype: str, count: int
  ) -> list[tuple[tuple[jax.Array, ...], tuple[jax.Array, ...]]]:
    """Returns random operands and cotangents: operands.make_sets."""
    described = self.operands(*numbers(size))
    return operands.make_sets(described, self.at(size).function, dtype, count)


def numbers(size: str) -> tuple[int, ...]:
  """Returns the integers of a size."""
  return tuple(map(int, size.split("x")))


def ours(name: str) -> Callable[..., Any]:
  """Returns the function of this name, whose library is loaded by a call."""
  return lambda *xs, **options: getattr(jax_ffi_ops, name)(*xs, **options)
