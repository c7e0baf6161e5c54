# SPDX-License-Identifier: Apache-2.0
"""What an author says of the op to be tested, and what follows from it."""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.equations import equations
from jax_ffi_ops.kit.testing.cases import oracle

# The loop dimensions of most calls: 8 to be split over devices, 6 over two.
LOOPS = (8, 6)


@dataclasses.dataclass(frozen=True)
class Operand:
  """An operand of the op.

  Attributes:
    core: its core shape, without loop dimensions.
    dtype: its dtype.
    values: function of a numpy.random.Generator and a shape that returns
      values. By default floats are normally distributed, integers are 0, 1 or
      2. An op should be smooth where its operands are.
  """

  core: tuple[int, ...] = ()
  dtype: Any = np.float32
  values: Callable[[np.random.Generator, tuple[int, ...]], Any] | None = None

  def array(self, seed: int, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    if self.values is not None:
      values = self.values(rng, shape)
    elif jnp.issubdtype(self.dtype, jnp.complexfloating):
      values = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    elif jnp.issubdtype(self.dtype, jnp.inexact):
      values = rng.normal(size=shape)
    else:
      values = rng.integers(0, 3, shape)
    return np.asarray(values).astype(jnp.dtype(self.dtype))


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
  """An op and the operands to test it with.

  Attributes:
    function: what `kit.op` returns, or a function around one call of it.
    slots: what to call it with; None for an operand that is left out.
    attributes: further keyword arguments of the call.
    reference: the definition in plain jax.numpy, or by jax.pure_callback, as
      for `kit.op`, but with the attributes bound and without residuals; by
      default the op's. It is evaluated in float64 (complex128).
    tolerance: factor by which errors may be larger than usual; see
      `checks.tolerance`. For ops that cancel, or that do not accumulate in
      float32 at least.
    namesake: the function of jax.numpy whose place `function` takes: it has to
      raise the same errors, with the same texts.
    deterministic: whether two runs give the same bits.
    trailing: how many of the loop dimensions are behind the core, if there are
      so many; the op is called with that axis.
    empty_cores: whether the op has results where a core dimension is 0; the
      maximum of nothing is none.
    definition: the definition in NumPy, of arrays that are called as the op's
      operands are, [loops..., core...] (None for one that is left out), and the
      attributes: it returns all results, residuals too. It is called with
      `Bounded` arrays.
    gradient: likewise, of what the backward handler gets, called as that is
      (the cotangent of y is dy): it returns the cotangents of the floating-point
      operands, not summed over rows; None for one that is left out.
  """

  function: Callable[..., Any]
  slots: Sequence[Operand | None]
  attributes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  reference: Callable[..., Any] | None = None
  tolerance: float = 1.0
  namesake: Callable[..., Any] | None = None
  deterministic: bool = True
  trailing: int = 0
  empty_cores: bool = True
  definition: Callable[..., Any] | None = None
  gradient: Callable[..., Any] | None = None

  def __call__(self, *operands: Any) -> tuple[jax.Array, ...]:
    """Calls the op with the operands that are there; returns a tuple."""
    attributes = dict(self.attributes)
    if self.trailing:
      ranks = (len(x.core) for x in self.operands)
      loops = max(jnp.ndim(x) - rank for x, rank in zip(operands, ranks))
      attributes["axis"] = -1 - self._behind(loops)
    given = iter(operands)
    slots = [None if x is None else next(given) for x in self.slots]
    return oracle.as_tuple(self.function(*slots, **attributes))

  @functools.cached_property
  def operands(self) -> list[Operand]:
    """The operands that are there."""
    return [x for x in self.slots if x is not None]

  def _behind(self, rank: int) -> int:
    """Returns how many of `rank` loop dimensions are behind the core."""
    return min(self.trailing, rank)

  def shape(self, loops: Sequence[int], core: Sequence[int]) -> tuple[int, ...]:
    first = len(loops) - self._behind(len(loops))
    return (*loops[:first], *core, *loops[first:])

  def state_size(self) -> int:
    """Returns how many numbers devices exchange of each piece of a core."""
    split, call = self.op.split, self.call
    if split is None:
      return 0
    types = call.named(
        [jax.ShapeDtypeStruct(x.core, x.dtype) for x in self.operands]
    )
    return len(split.identity(types, call.attributes.plain))

  @functools.cached_property
  def call(self) -> ForwardCall:
    """The call of the op, by its operands without loop dimensions."""
    operands = [jax.ShapeDtypeStruct(x.core, x.dtype) for x in self.operands]
    with jax.enable_x64(self.is_wide):
      calls = list(_calls(jax.make_jaxpr(self)(*operands).jaxpr))
    if len(calls) != 1:
      raise ValueError(
          f"{self.function} must call one op of jax_ffi_ops.kit once, but calls"
          f" {[call.op.name for call in calls]}."
      )
    return calls[0]

  @property
  def op(self) -> Declaration:
    """The op with the operands that are there."""
    return self.call.op

  @functools.cached_property
  def all_results(self) -> oracle.Oracle:
    """The definition with residuals, if the op has a reference."""
    ranks = tuple(len(x.core) for x in self.operands)
    if self.op.reference is None:
      return oracle.Oracle(self.reference or self._reference, ranks)
    return _oracle_of_op(self.op, self.call.attributes, ranks)

  @functools.cached_property
  def oracle(self) -> oracle.Oracle:
    """The definition.

    Raises:
      ValueError: neither the case nor the op has a reference.
    """
    ranks = [len(x.core) for x in self.operands]
    if self.reference is None and self.op.reference is None:
      raise ValueError(self._lacks_reference())
    reference = self.reference or (
        lambda *xs: self._reference(*xs)[: len(self.op.outputs)]
    )
    return oracle.Oracle(reference, ranks, self.trailing)

  def _lacks_reference(self):
    attributes = ", ".join(f"{n}={x!r}" for n, x in self.attributes.items())
    return (
        f"{self.op.name} has no reference: give `reference=` to kit.op, or to"
        f" the Case, a function of {', '.join(self.op.operands)}"
        f"{f' (with {attributes})' * bool(attributes)} in plain jax.numpy, or"
        " by jax.pure_callback."
    )

  def _reference(self, *operands):
    op = self.op
    if op.reference is None:
      raise ValueError(self._lacks_reference())
    return _by_reference(op, self.call.attributes, operands)

  def calls_in_rules(self, target: str) -> int:
    """Returns how often a rule for derivatives calls the handler, at most."""
    op, call = self.op, self.call
    cores = [jax.ShapeDtypeStruct(x.core, x.dtype) for x in self.operands]
    arrays = dict(zip(op.operands, cores))
    arrays |= {n + "_dot": x for n, x in arrays.items()}
    for name, x in call.results(cores).items():
      arrays |= {name: x.aval, "d" + name: x.aval}
    rules = op.derivatives
    counts = [0]
    with jax.enable_x64(self.is_wide):
      for rule in filter(None, (rules.jvp, rules.transpose, rules.backward)):
        taken = {n: arrays[n] for n in rule.names if n in arrays}
        traced = jax.make_jaxpr(lambda xs, r=rule: r(xs, call.attributes.plain))
        found = [x.target for x in _calls(traced(taken).jaxpr)]
        counts.append(found.count(target))
    return max(counts)

  @property
  def is_wide(self) -> bool:
    """Whether there are operands that JAX has only with jax_enable_x64."""
    dtypes = [jnp.dtype(x.dtype) for x in self.operands]
    return any(x.itemsize == (16 if x.kind == "c" else 8) for x in dtypes)

  @property
  def accumulator(self) -> Any:
    """The dtype of sums, if they are no wider than they have to be."""
    dtypes = [self.operands[i].dtype for i in self.differentiable]
    narrow = any(jnp.finfo(dtype).bits < 64 for dtype in dtypes)
    return np.float32 if narrow else np.float64

  @property
  def parameters(self) -> frozenset[int]:
    """The operands that calls give without loop dimensions."""
    names = self.op.operands
    return frozenset(
        i for i, name in enumerate(names) if name in self.op.parameters
    )

  @property
  def differentiable(self) -> list[int]:
    return [
        index
        for index, x in enumerate(self.operands)
        if self.op.is_differentiable(jnp.dtype(x.dtype))
    ]

  @property
  def terms(self) -> int:
    """How many numbers one result may depend on, in most calls."""
    return math.prod(LOOPS) * max(math.prod(x.core) for x in self.operands)

  def arrays(
      self,
      loops: Sequence[int] = LOOPS,
      shared: frozenset[int] = frozenset(),
      seed: int = 0,
  ) -> list[np.ndarray]:
    """Returns operands; parameters and `shared` have no loop dimensions."""
    shared = shared | self.parameters
    return [
        x.array(seed + i, x.core if i in shared else self.shape(loops, x.core))
        for i, x in enumerate(self.operands)
    ]

  def shared_sets(self) -> list[frozenset[int]]:
    """Returns which operands a call may have without loop dimensions."""
    free = set(range(len(self.operands))) - self.parameters
    singles = [frozenset({i}) for i in sorted(free)] if len(free) > 1 else []
    return [frozenset(), *singles]

  def avals(self, operands: Sequence[Any]) -> list[jax.ShapeDtypeStruct]:
    """Returns the shapes and dtypes that results have by definition."""
    key = tuple((x.shape, x.dtype) for x in operands)
    key += (jax.config.jax_enable_x64,)
    if key not in self._known_avals:
      found = list(jax.eval_shape(self.oracle.function, *operands))
      self._known_avals[key] = found
    return self._known_avals[key]

  @functools.cached_property
  def _known_avals(self) -> dict[Any, list[jax.ShapeDtypeStruct]]:
    """What `avals` has returned: tracing the definition takes long."""
    return {}

  @functools.cached_property
  def result_cores(self) -> list[jax.ShapeDtypeStruct]:
    """The results of a call without loop dimensions."""
    with jax.enable_x64(self.is_wide):
      return self.avals(self.arrays(()))

  def cotangents(self, operands: Sequence[Any], seed: int = 7):
    """Returns cotangents of the results that have any."""
    return [
        Operand(dtype=aval.dtype).array(seed, aval.shape)
        for aval in self.avals(operands)
        if self.op.is_differentiable(aval.dtype)
    ]

  def tangents(self, operands: Sequence[np.ndarray], seed: int = 9):
    """Returns tangents of the operands that have any."""
    return [
        Operand(dtype=operands[i].dtype).array(seed + i, operands[i].shape)
        for i in self.differentiable
    ]


def _by_reference(op, attributes, operands):
  named = dict(zip(op.operands, operands, strict=True))
  return op.reference(named, attributes.plain)


@functools.cache
def _oracle_of_op(op, attributes, ranks):
  """Returns one for all dtypes: it computes in float64 anyhow."""
  return oracle.Oracle(
      lambda *operands: _by_reference(op, attributes, operands), ranks
  )


def _calls(jaxpr):
  """Yields the calls of ops in a jaxpr."""
  for equation in equations(jaxpr):
    call = equation.params.get("call")
    if isinstance(call, ForwardCall):
      yield call
