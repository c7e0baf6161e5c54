# SPDX-License-Identifier: Apache-2.0
"""Direct calls of an op's FFI targets, as data: to be changed in one place."""

from collections.abc import Mapping
import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import numpy as np

Shape = tuple[int, ...]


class Buffer(NamedTuple):
  shape: Shape
  dtype: Any

  @property
  def struct(self) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(self.shape, self.dtype)


@dataclasses.dataclass(frozen=True)
class Frame:
  """A call of a target; buffers have names, in the order of the call."""

  target: str
  operands: Mapping[str, Buffer]
  results: Mapping[str, Buffer]
  attributes: Mapping[str, Any]

  def run(self, arrays: Mapping[str, Any] | None = None) -> list[np.ndarray]:
    """Calls the target with these arrays, or with zeros."""
    operands = [
        np.zeros(b.shape, b.dtype) if arrays is None else arrays[name]
        for name, b in self.operands.items()
    ]
    # XLA drops a call that only has empty results, if it has no side effect.
    call = jax.ffi.ffi_call(
        self.target,
        [b.struct for b in self.results.values()],
        has_side_effect=True,
    )
    program = jax.jit(functools.partial(call, **self.attributes))
    return [np.asarray(x) for x in program(*operands)]

  @property
  def buffers(self) -> Mapping[str, Buffer]:
    return {**self.operands, **self.results}

  def replace(self, **changed: Buffer) -> "Frame":
    """Returns this call with other buffers of these names."""
    return dataclasses.replace(
        self,
        operands={k: changed.get(k, b) for k, b in self.operands.items()},
        results={k: changed.get(k, b) for k, b in self.results.items()},
    )
