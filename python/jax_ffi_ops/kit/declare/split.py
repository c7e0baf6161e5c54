# SPDX-License-Identifier: Apache-2.0
"""How an op is computed whose core dimension is split over devices."""

from collections.abc import Callable, Collection, Mapping
import dataclasses
from typing import Any, Union

from jax_ffi_ops.kit.declare import sizes
from jax_ffi_ops.kit.declare.author_functions import AuthorFunction
from jax_ffi_ops.kit.declare.signature import Core

# What `apply` may take: combined states of other pieces, or of all.
CARRIES = ("before", "after", "whole")


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
  """How devices compute an op if each has a piece of its core dimension.

  Each device computes a state of its piece, all devices exchange their states,
  and each one computes its piece of the results. A state is a tuple of arrays
  that are small compared with a piece: the number of devices times its size
  should be less. Like the reference, the functions are written for one core.
  They run with 64-bit types enabled: name the dtype of each array that you
  make.

    kit.Split(
        local=lambda x: (jnp.max(x), jnp.sum(jnp.exp(x - jnp.max(x)))),
        identity=lambda x: (-jnp.inf, 0),
        combine=lambda a, b: ...,
        apply=lambda x, whole: jnp.exp(x - whole[0]) / whole[1],
    )

  Attributes:
    local: function of the operands' pieces that returns their state.
    identity: function of the same pieces that returns the state of no elements,
      as numbers.
    combine: function of the states of two neighboring pieces, in order, that
      returns the state of both. It must be associative.
    apply: function of operands and combined states that returns all results of
      a piece. The states have these names: `before` is the state of all pieces
      in front of the device's own, `after` of all pieces behind it, `whole` of
      all pieces. All four functions also take the attributes.
    backward: a Split for the backward pass. Its functions take the kept
      operands and residuals, and cotangents; its `apply` returns the cotangents
      of the operands. By default, JAX differentiates the forward functions.
    dimension: the name of the core dimension; by default the only one.
  """

  local: Callable[..., Any]
  identity: Callable[..., Any]
  combine: Callable[..., Any]
  apply: Callable[..., Any]
  backward: Union["Split", None] = None
  dimension: str | None = None

  def resolved(
      self, op: str, names: Collection[str], operands: Collection[str],
      cores: Collection[Core],
  ) -> "Split":  # fmt: skip
    """Returns this with AuthorFunctions and a dimension.

    Args:
      op: the name of the op.
      names: of operands, residuals and cotangents.
      operands: their names.
      cores: of operands and results, some of which have dimensions.

    Raises:
      ValueError: a function has a parameter of another name, or the dimension
        is none that can be split.
    """
    taken = sorted(set(CARRIES).intersection(names))
    if taken:
      raise ValueError(f"{op}: with `split`, no operand may be named {taken}.")
    dimension = self.dimension or _only(op, cores)
    counts = [core.count(dimension) for core in cores]
    bases = [[sizes.parse(x).name for x in core] for core in cores]
    if max(counts) != 1 or counts != [x.count(dimension) for x in bases]:
      raise ValueError(
          f"{op}: a dimension that is split stands once in a core, alone,"
          f" but {dimension!r} does not in {list(cores)}."
      )
    backward = self.backward and self.backward._of(op, "backward.", names)
    forward = self._of(op, "", operands)
    return dataclasses.replace(forward, backward=backward, dimension=dimension)

  def _of(self, op, kind, known):
    functions = {}
    for name in ("local", "identity", "apply"):
      more = CARRIES if name == "apply" else ()
      functions[name] = AuthorFunction.of(
          op, f"split.{kind}{name}", getattr(self, name), [*known, *more]
      )
    return dataclasses.replace(self, **functions)

  @property
  def names(self) -> tuple[str, ...]:
    """The names of the pieces that the functions take."""
    every = (*self.local.names, *self.identity.names, *self.apply.names)
    return tuple(n for n in dict.fromkeys(every) if n not in CARRIES)

  @property
  def is_scan(self) -> bool:
    """Whether results differ with the pieces that come before, or behind."""
    return bool({"before", "after"}.intersection(self.apply.names))

  def traced(self, arrays: Mapping[str, Any], attributes: Mapping[str, Any]):
    """Calls all functions once: state, identity, two states in one, results."""
    state = self.local(arrays, attributes)
    both = tuple(self.combine(state, state, **attributes))
    carries = {name: state for name in CARRIES}
    results = self.apply({**arrays, **carries}, attributes)
    return state, self.identity(arrays, attributes), both, results


def _only(op, cores):
  names = sizes.names(cores)
  if len(names) != 1:
    raise ValueError(
        f"{op}: `split` needs a `dimension`: there are {list(names)}."
    )
  return names[0]
