# SPDX-License-Identifier: Apache-2.0
"""One call of an op: which operands it has, its attributes, its axes."""

from collections.abc import Mapping, Sequence
import dataclasses
from typing import Any

import jax

from jax_ffi_ops.kit import dtypes as dtype_rules
from jax_ffi_ops.kit import looping
from jax_ffi_ops.kit.declaration import Declaration
from jax_ffi_ops.kit.declaration import plain
from jax_ffi_ops.kit.dimensions import Dimensions
from jax_ffi_ops.kit.dimensions import Parts
from jax_ffi_ops.kit.rules import Rule
from jax_ffi_ops.kit.signature import Core
from jax_ffi_ops.kit.value import Value


@dataclasses.dataclass(frozen=True, eq=False)
class Call:
  """What is known of a call without its operands.

  Attributes:
    op: declares the operands that are present, and no others.
    attributes: the declared ones.
    trailing_rank: how many of the last axes are loops.
  """

  op: Declaration
  attributes: Mapping[str, Value]
  trailing_rank: int

  @classmethod
  def of(cls, op: Declaration, params: Mapping[str, Any]) -> "Call":
    """Returns the call that the parameters of a primitive describe."""
    return cls(
        op.given(params.get("present")),
        {name: params[name] for name in op.attributes},
        params.get("trailing_rank", 0),
    )

  def dimensions(self, arrays: Mapping[str, Any]) -> Dimensions:
    """Returns the dimensions of arrays by the names of what they are."""
    axes = [self.op.axes[name] for name in arrays]
    return Dimensions.of(
        tuple(x.shape for x in arrays.values()),
        tuple(core for core, _ in axes),
        tuple(starred for _, starred in axes),
        self.trailing_rank,
    )

  def core(self, name: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Returns the core shape of what is named so."""
    return self._shape(self.op.axes[name][0], sizes)

  def _shape(self, core: Core, sizes):
    return tuple(
        sizes[d] if d in sizes else int(self.attributes[d].value) for d in core
    )

  def results(self, operands: Sequence[Any]) -> list[tuple[Parts, Any]]:
    """Returns the shapes and dtypes of all results, given all operands."""
    op = self.op
    named = dict(zip(op.operands, operands, strict=True))
    dims = self.dimensions(named)
    dtypes = op.result_dtypes(
        [(p.core, x.dtype) for p, x in zip(dims.arrays, operands)],
        self.attributes,
    )
    cores = [self._shape(core, dims.sizes) for core in op.signature.results]
    return [(dims.full(c), t) for c, t in zip(cores, dtypes, strict=True)]

  def differentiable_results(self, operands: Sequence[Any]) -> list[int]:
    """Returns which visible results have tangents."""
    visible, _ = self.op.split_results(self.results(operands))
    return [
        index
        for index, (_, dtype) in enumerate(visible)
        if dtype_rules.is_differentiable(dtype)
    ]

  def map(
      self, rule: Rule, arrays: Mapping[str, jax.Array]
  ) -> tuple[jax.Array, ...]:
    """Calls a rule for all indices of the loops, with what it takes.

    Its results have the loops that what it takes has, or none.
    """
    attributes = plain(self.attributes)
    taken = [i for i, name in enumerate(arrays) if name in rule.names]
    names, values = list(arrays), list(arrays.values())

    def on_cores(*cores):
      return rule({names[i]: x for i, x in zip(taken, cores)}, attributes)

    dims = self.dimensions(arrays).only(taken)
    return looping.loop(on_cores, dims)(*(values[i] for i in taken))

  def reference(self, operands: Sequence[jax.Array]) -> tuple[jax.Array, ...]:
    """Returns all results, as the reference has them."""
    op = self.op
    if op.reference is None:
      platforms = " and ".join(sorted(op.forward_platforms))
      raise NotImplementedError(
          f"{op.name} has no reference in jax.numpy: there are no derivatives"
          f" of it, and it runs only on {platforms}."
      )
    expected = self.results(operands)
    results = self.map(op.reference, dict(zip(op.operands, operands)))
    got = [(x.shape, x.dtype) for x in results]
    wanted = [(parts.shape, dtype) for parts, dtype in expected]
    if got != wanted:
      raise TypeError(
          f"{op.name}: the reference returns {dtype_rules.describe(got)}, but"
          f" declared is {dtype_rules.describe(wanted)}."
      )
    return results
