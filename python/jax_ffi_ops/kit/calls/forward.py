# SPDX-License-Identifier: Apache-2.0
"""The forward call: which operands it has, its attributes, its axes."""

from collections.abc import Mapping, Sequence
import dataclasses
import functools
from typing import Any

import jax
import numpy as np

from jax_ffi_ops.kit import dtypes as dtype_rules
from jax_ffi_ops.kit.calls import base
from jax_ffi_ops.kit.calls import choice
from jax_ffi_ops.kit.calls import mapping
from jax_ffi_ops.kit.calls.base import ArrayType
from jax_ffi_ops.kit.calls.dimensions import Dimensions
from jax_ffi_ops.kit.declare.author_functions import AuthorFunction
from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.declare.value import Value


@dataclasses.dataclass(frozen=True, repr=False)
class ForwardCall(base.HandlerCall):
  """A call of an op.

  Attributes:
    declared: the op with all of its operands.
    attributes: the declared ones: a Value that is a dictionary.
    present: a bit per operand, if any is optional.
    trailing_rank: how many of the last axes are loops, if the signature has a
      star.
    preference: what the caller wants to run.
    in_place: whether results may take the memory of operands.
  """

  declared: Declaration
  attributes: Value
  present: int | None = None
  trailing_rank: int | None = None
  preference: choice.Preference = dataclasses.field(
      default_factory=choice.preference
  )
  in_place: bool = False

  def __repr__(self):
    return f"({', '.join(self.description)})"

  @property
  def description(self) -> list[str]:
    """What jaxprs show of the call, and caches of programs tell apart."""
    values = {**self.attributes.value, **self._added}
    texts = [f"{name}={value}" for name, value in values.items()]
    asked = self.preference.value
    texts += [f"using the {asked}"] if asked else []
    return texts + ["in place"] * self.in_place

  @property
  def _added(self):
    """What the kit adds to the attributes."""
    added = {"present": self.present, "trailing_rank": self.trailing_rank}
    return {name: x for name, x in added.items() if x is not None}

  @property
  def handler_attributes(self) -> dict[str, Any]:
    declared = {name: x.value for name, x in self.attributes.value.items()}
    return declared | {name: np.int64(x) for name, x in self._added.items()}

  @property
  def column_major(self) -> dict[str, int]:
    axes, names = self.op.axes, self.op.buffers.column_major
    return {n: len(axes[n][0]) for n in names if n in axes}

  @functools.cached_property
  def op(self) -> Declaration:
    return self.declared.given(self.present)

  @property
  def names(self) -> tuple[str, ...]:
    return self.op.operands

  @property
  def target(self) -> str:
    return self.op.forward_target

  @property
  def splits_core(self) -> bool:
    return self.op.split is not None

  def like(self, result: str) -> str:
    return result

  def dimensions(self, arrays: Sequence[Any]) -> Dimensions:
    return self.dimensions_of(self.named(arrays))

  def dimensions_of(self, arrays: Mapping[str, Any]) -> Dimensions:
    """Returns the dimensions of arrays, given by operands' and results' names."""
    axes = [self.op.axes[name] for name in arrays]
    return Dimensions.of(
        tuple(x.shape for x in arrays.values()),
        tuple(core for core, _ in axes),
        tuple(starred for _, starred in axes),
        self.trailing_rank or 0,
    )

  def core(self, name: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Returns the core shape of an operand or a result."""
    return self.op.core(name, sizes, self.attributes)

  def results(self, arrays: Sequence[Any]) -> dict[str, ArrayType]:
    op = self.op
    dims = self.dimensions(arrays)
    dtypes = op.result_dtypes(
        [(p.core, x.dtype) for p, x in zip(dims.arrays, arrays)],
        self.attributes,
    )
    return {
        name: ArrayType(dims.full(self.core(name, dims.sizes)), dtype)
        for name, dtype in zip(op.result_names, dtypes, strict=True)
    }

  def received(self, platform: str, arrays: Sequence[Any]) -> base.Received:
    received = super().received(platform, arrays)
    # CUDA's kernels may read operands through caches that see no writes.
    if not self.in_place or platform != "cpu":
      return received
    operands, results = map(list, (received.operands, received.results))
    type_of = lambda x: (x.shape, x.dtype)
    return received._replace(
        aliases={
            operands.index(x): results.index(y)
            for y, x in self.op.buffers.in_place.items()
            if x in operands
            and type_of(received.operands[x]) == type_of(received.results[y])
        }
    )

  def moving_results(self, arrays: Sequence[Any]) -> dict[str, ArrayType]:
    """Returns the types of the visible results that have tangents."""
    return {
        name: x
        for name, x in self.results(arrays).items()
        if name in self.op.outputs and dtype_rules.is_differentiable(x.dtype)
    }

  def decided(
      self, platform: str, arrays: Sequence[Any], backward: bool = False
  ) -> choice.Decision:
    """Decides for this call or, with `backward`, for its backward call."""
    dims = self.dimensions(arrays)
    dtypes = {name: x.dtype for name, x in self.named(arrays).items()}
    return choice.decided(platform, self, dims, dtypes, backward)

  def map(
      self, function: AuthorFunction, arrays: Mapping[str, jax.Array]
  ) -> tuple[jax.Array, ...]:
    """Calls a function of cores for all indices of the loops.

    It gets the arrays that it has parameters for. Results have the loops of
    these arrays, or none.
    """
    attributes = self.attributes.plain
    taken = [i for i, name in enumerate(arrays) if name in function.names]
    names, values = list(arrays), list(arrays.values())

    def on_cores(*cores):
      return function({names[i]: x for i, x in zip(taken, cores)}, attributes)

    dims = self.dimensions_of(arrays)
    mapped = mapping.loop(on_cores, [dims.arrays[i] for i in taken])
    return mapped(*(values[i] for i in taken))

  def reference(self, arrays: Sequence[jax.Array]) -> dict[str, jax.Array]:
    """Returns all results, as the reference has them."""
    op = self.op
    if op.reference is None:
      platforms = " and ".join(sorted(op.forward_platforms))
      raise NotImplementedError(
          f"{op.name} has no reference in jax.numpy: there are no derivatives"
          f" of it, and it runs only on {platforms}."
      )
    expected = self.results(arrays)
    results = self.map(op.reference, self.named(arrays))
    got = [(x.shape, x.dtype) for x in results]
    wanted = [(x.parts.shape, x.dtype) for x in expected.values()]
    if got != wanted:
      raise TypeError(
          f"{op.name}: the reference returns {dtype_rules.describe(got)}, but"
          f" declared is {dtype_rules.describe(wanted)}."
      )
    return dict(zip(expected, results))
