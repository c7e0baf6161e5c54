# SPDX-License-Identifier: Apache-2.0
"""Direct calls of an op's FFI targets, as data: to be changed in one place."""

from collections.abc import Mapping
import dataclasses
import functools
import random
from typing import Any, NamedTuple

import jax
import numpy as np

from jax_ffi_ops.kit.calls.base import orders
from jax_ffi_ops.kit.load.library import Library
from jax_ffi_ops.kit.testing.direct.placed import Placed
from jax_ffi_ops.kit.testing.direct.runtime import Runtime

Shape = tuple[int, ...]


class Buffer(NamedTuple):
  shape: Shape
  dtype: Any

  @property
  def struct(self) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(self.shape, self.dtype)


_runtime = functools.cache(Runtime)


def _address(array, shift):
  """Returns where an array is: an empty one may be nowhere."""
  return array.ctypes.data if array.size or shift else None


_programs = {}  # by the text of a frame: it has types and values of attributes


class Refused(Exception):
  """The handler returned an error, or XLA did."""


@dataclasses.dataclass(frozen=True)
class Frame:
  """A call of a target; buffers have names, in the order of the call.

  Attributes:
    column_major: as Received has it.
  """

  target: str
  operands: Mapping[str, Buffer]
  results: Mapping[str, Buffer]
  attributes: Mapping[str, Any]
  column_major: Mapping[str, int] = dataclasses.field(default_factory=dict)

  def run(self, arrays: Mapping[str, Any] | None = None) -> list[np.ndarray]:
    """Calls the target with these arrays, or with zeros; may raise Refused."""
    try:
      program = self._program()
      results = [np.asarray(x) for x in program(*self._arrays(arrays))]
      if not results:  # Then nothing has waited for the call.
        jax.effects_barrier()
      return results
    except (jax.errors.JaxRuntimeError, ValueError) as error:
      raise Refused(str(error)) from error

  def _program(self):
    key = repr(self)
    if key not in _programs:
      # XLA drops a call that only has empty results, if it has no side effect.
      call = jax.ffi.ffi_call(
          self.target,
          [b.struct for b in self.results.values()],
          has_side_effect=True,
          input_layouts=orders(self.operands, self.column_major),
          output_layouts=orders(self.results, self.column_major),
      )
      _programs[key] = jax.jit(functools.partial(call, **self.attributes))
    return _programs[key]

  def run_quickly(
      self, library: Library, arrays: Mapping[str, Any] | None = None
  ) -> list[np.ndarray]:
    """Does the same on the CPU without XLA, which would compile the call."""
    try:
      return self.run_without_xla(library, arrays)
    except NotImplementedError:
      return self.run(arrays)

  def run_without_xla(
      self,
      library: Library,
      arrays: Mapping[str, Any] | None = None,
      shift: int = 0,
      seed: int = 0,
  ) -> list[np.ndarray]:
    """Does the same; NotImplementedError where XLA is needed.

    Args:
      library: has the handler.
      arrays: see above.
      shift: how many elements after an aligned address buffers begin.
      seed: of the number of threads, and of the order of what they do.
    """
    if jax.default_backend() != "cpu":
      raise NotImplementedError
    # pylint: disable-next=protected-access
    handler = library._stages(self.target, "cpu")["execute"]
    operands, results = (
        {
            name: Placed(b.shape, b.dtype, shift, order)
            for (name, b), order in zip(
                side.items(), orders(side, self.column_major)
            )
        }
        for side in (self.operands, self.results)
    )
    for x, values in zip(operands.values(), self._arrays(arrays)):
      x.array[...] = values
    rng = random.Random(f"{seed} {self}")
    buffers = [
        [(b, _address(side[name].array, shift)) for name, b in own.items()]
        for side, own in ((operands, self.operands), (results, self.results))
    ]
    error = _runtime().call(handler, *buffers, self.attributes, rng)
    for name, x in (operands | results).items():
      x.check(name)
    if error:
      raise Refused(str(error))
    return [x.array for x in results.values()]

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
