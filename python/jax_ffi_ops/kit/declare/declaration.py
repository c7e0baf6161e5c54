# SPDX-License-Identifier: Apache-2.0
"""What an author declares of an op, and what follows from it alone."""

from collections.abc import Mapping, Sequence
import dataclasses
import functools
from typing import Any

import jax
import numpy as np

from jax_ffi_ops.kit import arguments
from jax_ffi_ops.kit import dtypes as dtype_rules
from jax_ffi_ops.kit.declare import sizes as core_sizes
from jax_ffi_ops.kit.declare.attributes import Attribute
from jax_ffi_ops.kit.declare.author_functions import AuthorFunction
from jax_ffi_ops.kit.declare.groups import Buffers
from jax_ffi_ops.kit.declare.groups import Choice
from jax_ffi_ops.kit.declare.groups import Derivatives
from jax_ffi_ops.kit.declare.groups import Operand
from jax_ffi_ops.kit.declare.groups import Results
from jax_ffi_ops.kit.declare.signature import Core
from jax_ffi_ops.kit.declare.signature import Signature
from jax_ffi_ops.kit.declare.split import Split
from jax_ffi_ops.kit.declare.value import Value
from jax_ffi_ops.kit.load.cores import Cores
from jax_ffi_ops.kit.load.source import Source

Avals = Sequence[tuple[tuple[int, ...], np.dtype]]  # Shapes and dtypes.


@dataclasses.dataclass(frozen=True, eq=False)
class Declaration:
  """See `kit.op` for the meaning of the fields.

  Attributes:
    slots: the names of all operands.
    operands: the names of those that are present; `signature` and `dtypes` are
      for these, in the declaration of a call with some of them left out.
    same_dtype: operand to the operand whose dtype it must have.
    roles: operand to what it is, if it is more than an array.
    results: its functions of sizes, and the rules of `derivatives`, are
      AuthorFunctions; residuals are names.
  """

  name: str
  library: Source
  signature: Signature
  slots: tuple[str, ...]
  operands: tuple[str, ...]
  dtypes: tuple[frozenset[np.dtype] | None, ...]
  same_dtype: Mapping[str, str]
  roles: Mapping[str, Operand]
  outputs: tuple[str, ...]
  attributes: Mapping[str, Attribute]
  results: Results
  reference: AuthorFunction | None
  derivatives: Derivatives
  choice: Choice
  buffers: Buffers
  split: Split | None
  cores: Cores | None
  forward_platforms: frozenset[str]
  backward_platforms: frozenset[str]

  @property
  def forward_target(self) -> str:
    return f"{self.library.prefix}{self.name}_fwd"

  @property
  def backward_target(self) -> str:
    return f"{self.library.prefix}{self.name}_bwd"

  @property
  def targets(self) -> tuple[str, ...]:
    backward = (self.backward_target,) if self.backward_platforms else ()
    return (self.forward_target, *backward)

  @functools.cache
  def given(self, present: int | None) -> "Declaration":
    """Returns the declaration with those operands alone whose bits are set."""
    if present is None or present == (1 << len(self.operands)) - 1:
      indices = range(len(self.operands))
    else:
      indices = [i for i in range(len(self.operands)) if present >> i & 1]
    return dataclasses.replace(
        self,
        signature=self.signature.only(indices),
        operands=tuple(self.operands[i] for i in indices),
        dtypes=tuple(self.dtypes[i] for i in indices),
    )

  @functools.cached_property
  def parameters(self) -> frozenset[str]:
    return frozenset(n for n, x in self.roles.items() if x.parameter)

  @functools.cached_property
  def stretched(self) -> frozenset[str]:
    return frozenset(n for n, x in self.roles.items() if x.stretched)

  @functools.cached_property
  def weights(self) -> Mapping[str, str]:
    """Weight to the operand whose dtype its own depends on."""
    return {n: x.weight_of for n, x in self.roles.items() if x.weight_of}

  @functools.cached_property
  def row_sums(self) -> tuple[str, ...]:
    return tuple(n for n, x in self.roles.items() if x.row_sums)

  @functools.cached_property
  def result_names(self) -> tuple[str, ...]:
    kept = self.derivatives.residuals
    return (*self.outputs, *(n for n in kept if n not in self.outputs))

  @functools.cached_property
  def axes(self) -> Mapping[str, tuple[Core, bool]]:
    """Cores, and whether they have trailing loops, of all that has a name."""
    axes = {}
    for i, name in enumerate(self.operands):
      own = self.signature.operands[i], i in self.signature.starred
      axes |= {name: own, name + "_dot": own}
    for name, core in zip(self.result_names, self.signature.results):
      own = core, bool(self.signature.starred)
      axes |= {name: own, "d" + name: own}
    return axes

  def core(
      self, name: str, sizes: Mapping[str, int], attributes: Value
  ) -> tuple[int, ...]:
    """Returns the core shape of what is named so.

    Args:
      name: of an operand, a result, a tangent or a cotangent.
      sizes: of the names of core dimensions, of operands at least.
      attributes: all of them.

    Raises:
      ValueError: `Results.sizes` gives no size.
    """
    dims = self.axes[name][0]
    known = {**attributes.plain, **sizes}
    for dim in core_sizes.names([dims]):
      if dim in self.results.sizes and dim not in sizes:
        known[dim] = self._computed(dim, known)
    return tuple(core_sizes.size(dim, known) for dim in dims)

  def _computed(self, name, known):
    """Returns the size that `Results.sizes` gives for a name."""
    function = self.results.sizes[name]
    values = {n: known[n] for n in function.names}
    size = function.function(*values.values())
    dims = [x for n, x in values.items() if n in self.signature.names]
    if not all(isinstance(x, int) for x in dims):
      return size  # Symbolic, as these are.
    if isinstance(size, int) and size >= 0:
      return size
    raise ValueError(
        f"{self.name}: the size of {name!r} must be an integer of at least 0,"
        f" but `Results.sizes` gives {size!r} for {values}."
    )

  @functools.cached_property
  def kept(self) -> tuple[str, ...]:
    """What the backward pass has: operands, then results."""
    if self.is_linear:
      return ()
    rules = self.derivatives
    rule = rules.backward
    if rule is None and not self.backward_platforms:
      rule = rules.jvp
    return self._in_order(rule.names) if rule else (
        *self.operands, *rules.residuals
    )  # fmt: skip

  def kept_without(self, unwanted: Sequence[str]) -> tuple[str, ...]:
    """What it needs if the gradients of some operands are unwanted."""
    needed_by = self.derivatives.needed_by
    useless = {n for n, x in needed_by.items() if {*x} <= {*unwanted}}
    return tuple(name for name in self.kept if name not in useless)

  @functools.cached_property
  def linear(self) -> tuple[str, ...]:
    """The operands in which the op is linear, as `transpose=` says."""
    rule = self.derivatives.transpose
    taken = rule.names if rule else self.operands
    return tuple(name for name in self.operands if name not in taken)

  @property
  def is_linear(self) -> bool:
    """Whether the op is linear in all operands."""
    return self.linear == self.operands

  @functools.cached_property
  def own_tangents(self) -> tuple[str, ...]:
    """The operands along which the op is its own tangent."""
    return self.linear if self.keeps_operands or self.is_linear else ()

  @property
  def has_derivatives(self) -> bool:
    """Whether anything says what they are."""
    rules = self.derivatives
    return any((self.reference, rules.jvp, rules.backward, rules.transpose))

  @functools.cached_property
  def kept_for_transpose(self) -> tuple[str, ...]:
    """The other operands that `transpose=` has."""
    return tuple(name for name in self.operands if name not in self.linear)

  @functools.cached_property
  def kept_for_jvp(self) -> tuple[str, ...]:
    """What forward mode has."""
    rule = self.derivatives.jvp
    return self._in_order((*self.kept, *(rule.names if rule else ())))

  def _in_order(self, names):
    results = (*self.derivatives.residuals, *self.outputs)
    every = dict.fromkeys((*self.operands, *results))
    return tuple(name for name in every if name in names)

  @functools.cached_property
  def shareable(self) -> tuple[str, ...]:
    """The operands whose gradients the backward handler sums over rows."""
    summed = {*self.parameters, *self.row_sums, *self.weights}
    return tuple(name for name in self.operands if name in summed)

  @functools.cached_property
  def keeps_operands(self) -> bool:
    """Whether the backward pass has all operands."""
    return set(self.operands) <= set(self.kept)

  @functools.cached_property
  def hidden(self) -> frozenset[str]:
    """The residuals that have no tangents, since callers do not see them."""
    return frozenset(self.derivatives.residuals) - set(self.outputs)

  @staticmethod
  def is_differentiable(dtype: Any) -> bool:
    return dtype_rules.is_differentiable(dtype)

  def result_dtypes(self, operands: Avals, attributes: Value) -> list[np.dtype]:
    """Returns the dtypes of all results, given cores of the operands."""
    if self.results.dtypes is not None:
      source = "`Results.dtypes`"
      avals = dict(
          zip(self.operands, (jax.ShapeDtypeStruct(*x) for x in operands))
      )
      dtypes = self.results.dtypes(
          *map(avals.get, self.slots), **attributes.plain
      )
      if not isinstance(dtypes, (list, tuple)):
        raise TypeError(
            f"{self.name}: `Results.dtypes` must return a sequence of dtypes,"
            f" got {dtypes!r}."
        )
    elif self.reference is not None:
      source = "the reference"
      operands = self._with_known_sizes(operands)
      dtypes = [x.dtype for x in self.reference_results(operands, attributes)]
    else:
      source = "the default"
      dtypes = [operands[0][1]] * len(self.result_names)
    if len(dtypes) != len(self.result_names):
      raise TypeError(
          f"{self.name}: {source} gives {len(dtypes)}, but the signature"
          f" {self.signature} has"
          f" {arguments.counted(len(self.result_names), 'result')}."
      )
    return list(map(jax.dtypes.canonicalize_dtype, dtypes))

  def _with_known_sizes(self, operands: Avals) -> Avals:
    """Returns cores with numbers in place of symbolic sizes.

    Dtypes do not depend on sizes. Not every reference takes symbolic ones.
    """
    dims, known = self.signature.operands, {}
    for core, (shape, _) in zip(dims, operands):
      known |= core_sizes.solve(core, shape)
    if all(isinstance(n, int) for n in known.values()):
      return operands
    known = {x: n if isinstance(n, int) else 1024 for x, n in known.items()}
    return [
        (tuple(core_sizes.size(dim, known) for dim in core), dtype)
        for core, (_, dtype) in zip(dims, operands)
    ]

  def reference_results(
      self, operands: Avals, attributes: Value
  ) -> tuple[jax.ShapeDtypeStruct, ...]:
    """Returns what the reference does, given cores of the operands."""
    return self._reference_results(
        tuple(operands),
        attributes,
        jax.config.jax_enable_x64,
    )

  @functools.lru_cache(maxsize=4096)
  def _reference_results(self, operands, attributes, x64):
    del x64  # It is of the cache's key.
    avals = {
        name: jax.ShapeDtypeStruct(*x)
        for name, x in zip(self.operands, operands, strict=True)
    }
    results = jax.eval_shape(
        lambda xs: self.reference(xs, attributes.plain), avals
    )
    if not all(isinstance(x, jax.ShapeDtypeStruct) for x in results):
      raise TypeError(
          f"{self.name}: the reference must return an array or a tuple of"
          f" arrays, got {results}."
      )
    return results
