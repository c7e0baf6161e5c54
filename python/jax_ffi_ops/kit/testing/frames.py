# SPDX-License-Identifier: Apache-2.0
"""Direct calls of an op's FFI targets, as data: to be changed in one place."""

from collections.abc import Mapping
import dataclasses
import functools
import math
import random
from typing import Any, NamedTuple

import jax
import numpy as np

from jax_ffi_ops.kit.load.library import Library
from jax_ffi_ops.kit.testing.runtime import Runtime

Shape = tuple[int, ...]


class Buffer(NamedTuple):
  shape: Shape
  dtype: Any

  @property
  def struct(self) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(self.shape, self.dtype)


def _roomy(b):
  """Returns a new array, with room behind it.

  A handler that takes it for a larger one is to be reported: it should not end
  the process. All bits are 1, a NaN, if nothing is written.
  """
  size = math.prod(b.shape) * np.dtype(b.dtype).itemsize
  memory = np.full(16 * size + 4096, 0xFF, np.uint8)
  return memory[:size].view(b.dtype).reshape(b.shape)


_runtime = functools.cache(Runtime)


class Refused(Exception):
  """The handler returned an error, or XLA did."""


@dataclasses.dataclass(frozen=True)
class Frame:
  """A call of a target; buffers have names, in the order of the call."""

  target: str
  operands: Mapping[str, Buffer]
  results: Mapping[str, Buffer]
  attributes: Mapping[str, Any]

  def run(self, arrays: Mapping[str, Any] | None = None) -> list[np.ndarray]:
    """Calls the target with these arrays, or with zeros; may raise Refused."""
    # XLA drops a call that only has empty results, if it has no side effect.
    call = jax.ffi.ffi_call(
        self.target,
        [b.struct for b in self.results.values()],
        has_side_effect=True,
    )
    program = jax.jit(functools.partial(call, **self.attributes))
    try:
      return [np.asarray(x) for x in program(*self._arrays(arrays))]
    except (jax.errors.JaxRuntimeError, ValueError) as error:
      raise Refused(str(error)) from error

  def run_quickly(
      self, library: Library, arrays: Mapping[str, Any] | None = None
  ) -> list[np.ndarray]:
    """Does the same on the CPU without XLA, which would compile the call."""
    try:
      return self.run_without_xla(library, arrays)
    except NotImplementedError:
      return self.run(arrays)

  def run_without_xla(
      self, library: Library, arrays: Mapping[str, Any] | None = None
  ) -> list[np.ndarray]:
    """Does the same; NotImplementedError where XLA is needed."""
    if jax.default_backend() != "cpu":
      raise NotImplementedError
    # pylint: disable-next=protected-access
    handler = library._stages(self.target, "cpu")["execute"]
    results = [_roomy(b) for b in self.results.values()]
    operands = [_roomy(b) for b in self.operands.values()]
    for x, values in zip(operands, self._arrays(arrays)):
      x[...] = values
    rng = random.Random(repr(self))
    buffers = [
        [(Buffer(x.shape, x.dtype), x.ctypes.data) for x in side]
        for side in (operands, results)
    ]
    error = _runtime().call(handler, *buffers, self.attributes, rng)
    if error:
      raise Refused(str(error))
    return results

  def _arrays(self, arrays):
    return [
        np.zeros(b.shape, b.dtype) if arrays is None else arrays[name]
        for name, b in self.operands.items()
    ]

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
