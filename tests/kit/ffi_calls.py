# SPDX-License-Identifier: Apache-2.0
"""Calls of FFI targets as data, to be changed in one place each."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.op import find

# Values of other types than an attribute's. jax.ffi takes attributes of equal
# value for the same, whatever their type: each of these is another one.
_OF_WRONG_TYPE = {
    np.float64: (
        *(np.float32(2), 3, np.int32(4), np.uint8(5), "text"),
        *(np.array([6.0]), np.array(7.0), {"a": 8}),
    ),
    np.int64: (
        *(np.int32(12), np.uint64(13), 14.5, np.float32(15), "text"),
        *(np.array([16]), np.array(17), {"a": 18}),
    ),
}


def workspaces(target, operands, results):
  """Returns what a handler takes after its results on the default platform.

  Args:
    target: its name.
    operands: of a call; whatever has shape and dtype.
    results: likewise.
  """
  op = find(target.rpartition("_")[0])
  if jax.default_backend() != "gpu" or not target.endswith("_bwd"):
    return []
  make = op.declaration.workspace
  return [] if make is None else [make(operands, results)]


class Buffer(NamedTuple):
  shape: tuple[int, ...]
  dtype: str = "float32"


class Call(NamedTuple):
  target: str
  operands: dict[str, Buffer]
  results: dict[str, Buffer]
  attributes: dict[str, object]
  workspaces: tuple[jax.ShapeDtypeStruct, ...] = ()

  def with_workspaces(self) -> "Call":
    """This call, which is right, with the memory that the handler works in."""
    buffers = (map(_struct, b.values()) for b in (self.operands, self.results))
    found = workspaces(self.target, *map(list, buffers))
    return self._replace(workspaces=tuple(found))

  @property
  def buffers(self) -> dict[str, Buffer]:
    return self.operands | self.results

  def run(self) -> None:
    """Calls the target with zeros."""
    operands = [
        np.zeros(shape, jnp.dtype(dtype))
        for shape, dtype in self.operands.values()
    ]
    results = [*map(_struct, self.results.values()), *self.workspaces]
    # XLA drops a call that only has empty results, if it has no side effect.
    call = jax.ffi.ffi_call(self.target, results, has_side_effect=True)
    jax.block_until_ready(call(*operands, **self.attributes))

  def replace(self, **changed: Buffer) -> "Call":
    """This call with other buffers of these names."""
    return self._replace(
        operands={k: changed.get(k, b) for k, b in self.operands.items()},
        results={k: changed.get(k, b) for k, b in self.results.items()},
    )

  def wrong_numbers(self):
    """Yields (label, call) with an operand or a result too few or too many."""
    for field in ("operands", "results"):
      buffers = getattr(self, field)
      for name in buffers:
        others = {k: b for k, b in buffers.items() if k != name}
        yield f"{field}_without_{name}", self._replace(**{field: others})
      others = {f"{name}_again": buffer for name, buffer in buffers.items()}
      for name in others:
        more = buffers | {name: others[name]}
        yield f"{field}_with_{name}", self._replace(**{field: more})

  def wrong_attributes(self):
    """Yields (label, call) with an attribute that the target does not take."""
    for name, right in self.attributes.items():
      others = {k: v for k, v in self.attributes.items() if k != name}
      wrong = {
          "missing": others,
          "misnamed": others | {f"{name}_": right},
          "with_another": self.attributes | {f"{name}_": right},
      }
      for value in (*_OF_WRONG_TYPE[type(right)], not right):
        wrong[f"{type(value).__name__}_{value}"] = others | {name: value}
      for label, attributes in wrong.items():
        yield f"{name}_{label}", self._replace(attributes=attributes)


def _struct(buffer):
  return jax.ShapeDtypeStruct(buffer.shape, jnp.dtype(buffer.dtype))


def near_shapes(shape: tuple[int, ...]) -> set[tuple[int, ...]]:
  """Returns shapes of other ranks, or with another size in one dimension."""
  shapes = {(), shape[1:], shape[:-1], (1, *shape), (*shape, 1)}
  for axis, size in enumerate(shape):
    for other in (0, 1, size - 1, size + 1):
      shapes.add((*shape[:axis], other, *shape[axis + 1 :]))
  return shapes - {shape}
