# SPDX-License-Identifier: Apache-2.0
"""What an author declares of an op, and what follows from it alone."""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import functools
from typing import Any

import jax
from jax.dtypes import float0
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit import looping
from jax_ffi_ops.kit.attributes import Attribute
from jax_ffi_ops.kit.attributes import Value
from jax_ffi_ops.kit.library import Library
from jax_ffi_ops.kit.signature import Signature


@dataclasses.dataclass(frozen=True, eq=False)
class Declaration:
  """See `kit.op` for the meaning of the fields."""

  name: str
  library: Library
  signature: Signature
  operands: tuple[str, ...]
  dtypes: tuple[frozenset[np.dtype] | None, ...]
  parameters: frozenset[str]
  results: Callable[..., Sequence[Any]]
  residuals: int
  attributes: Mapping[str, Attribute]
  reference: Callable[..., Any] | None
  forward_platforms: frozenset[str]
  backward_platforms: frozenset[str]
  workspace: Callable[..., jax.ShapeDtypeStruct] | None

  @property
  def forward_target(self) -> str:
    return self.name + "_fwd"

  @property
  def backward_target(self) -> str:
    return self.name + "_bwd"

  @staticmethod
  def is_differentiable(dtype: Any) -> bool:
    return dtype != float0 and jnp.issubdtype(dtype, jnp.inexact)

  def differentiable(self, operands: Sequence[Any]) -> list[int]:
    """Returns which operands have cotangents."""
    count = len(self.signature.operands)
    return [
        index
        for index, x in enumerate(operands[:count])
        if self.is_differentiable(x.dtype)
    ]

  def split_results(self, results: Sequence[Any]) -> tuple[list, list]:
    """Returns the results that a caller sees, and the residuals."""
    visible = len(self.signature.results) - self.residuals
    return list(results[:visible]), list(results[visible:])

  def result_dtypes(
      self, operands: Sequence[Any], attributes: Mapping[str, Value]
  ) -> list[np.dtype]:
    """Returns the dtypes of all results."""
    count = len(self.signature.operands)
    dtypes = self.results(*operands[:count], **plain(attributes))
    if len(dtypes) != len(self.signature.results):
      raise TypeError(
          f"{self.name}: `results` gives {len(dtypes)} dtypes, but the signature"
          f" {self.signature} has {len(self.signature.results)} results."
      )
    return [jax.dtypes.canonicalize_dtype(dtype) for dtype in dtypes]

  def differentiable_results(
      self,
      results: Sequence[Any],
      operands: Sequence[Any],
      attributes: Mapping[str, Value],
  ) -> list:
    """Returns those of all results that are visible and have tangents."""
    dtypes = self.result_dtypes(operands, attributes)
    visible, _ = self.split_results(list(zip(results, dtypes, strict=True)))
    return [x for x, dtype in visible if self.is_differentiable(dtype)]

  def call_reference(
      self, operands: Sequence[jax.Array], attributes: Mapping[str, Value]
  ) -> tuple[jax.Array, ...]:
    """Returns all results, as the reference has them."""
    if self.reference is None:
      raise NotImplementedError(
          f"{self.name} has no reference in jax.numpy: there are no derivatives"
          " of it, and it runs only on"
          f" {' and '.join(sorted(self.forward_platforms))}."
      )
    dtypes = self.result_dtypes(operands, attributes)
    function = functools.partial(self._checked_reference, dtypes, attributes)
    loops = self.signature.loops([x.shape for x in operands])
    return looping.loop(function, loops)(*operands)

  def _checked_reference(self, dtypes, attributes, *operands):
    # Like a function of JAX, whatever the caller allows in his own code.
    with (
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
    ):
      results = self.reference(*operands, **plain(attributes))
    results = (
        tuple(results) if isinstance(results, (tuple, list)) else (results,)
    )
    shapes = self.signature.core_shapes(
        self.signature.results, [x.shape for x in operands]
    )
    got = [(x.shape, x.dtype) for x in results]
    if got != list(zip(shapes, dtypes, strict=True)):
      raise TypeError(
          f"{self.name}: the reference returns {_describe(got)}, but declared"
          f" is {_describe(zip(shapes, dtypes))}."
      )
    return results


def plain(attributes: Mapping[str, Value]) -> dict[str, Any]:
  """Returns attributes as NumPy scalars, arrays and strings."""
  return {name: value.value for name, value in attributes.items()}


def _describe(avals):
  return ", ".join(
      f"{dtype}[{','.join(map(str, shape))}]" for shape, dtype in avals
  )
