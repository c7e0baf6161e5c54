# SPDX-License-Identifier: Apache-2.0
"""Whether a call runs its handler or the reference, and why.

This is the one place that decides it. What authors say meets here: weights,
`use_handler` and `is_faster`; what the build compiled, and the rows from which
on that is faster; and what the caller asks for.
"""

from collections.abc import Callable, Mapping, Sequence
import contextlib
import enum
import functools
import math
from typing import Any, NamedTuple

import jax

from jax_ffi_ops.kit.calls.dimensions import Dimensions
from jax_ffi_ops.kit.declare.author_functions import keywords
from jax_ffi_ops.kit.dtypes import unserved_weight


class Preference(enum.Enum):
  """What a caller wants to run. The values are what `kit.using` takes."""

  FASTER = None
  HANDLER = "handler"
  HANDLER_IF_SERVED = "handler if served"
  REFERENCE = "reference"

  @property
  def ignores_speed(self) -> bool:
    return self in (Preference.HANDLER_IF_SERVED, Preference.HANDLER)


class Code(enum.Enum):
  """Why a call runs what it does."""

  HANDLER = enum.auto()  # It serves the call.
  ASKED = enum.auto()  # The caller wants the reference.
  TRANSPOSED = enum.auto()  # `transpose=` computes it: there is no handler.
  WEIGHT = enum.auto()  # A weight would lose bits.
  NOT_COMPILED = enum.auto()  # The build has no such core.
  NOT_SERVED = enum.auto()  # `use_handler` is False.
  FEW_ROWS = enum.auto()  # The build found the reference faster.
  NOT_FASTER = enum.auto()  # `is_faster` is False.


class Decision(NamedTuple):
  """What a call runs.

  Attributes:
    code: why.
    reason: the same in words, if the call does not run its handler.
  """

  code: Code
  reason: str = ""

  @property
  def runs_handler(self) -> bool:
    return self.code is Code.HANDLER


_HANDLER = Decision(Code.HANDLER)

# In the keys of jax's caches: programs of a block are not used outside of it.
_using = jax.make_user_context(Preference.FASTER)


def using(what: str) -> contextlib.AbstractContextManager[None]:
  """Makes calls run their handlers, or their references, in a block of code.

    with kit.using("reference"):
      expected = jax.jit(f)(x)

  It is for what the current thread traces in the block, derivatives included.
  Programs that were compiled outside are compiled again. With "handler", it
  does not matter what is faster, and a call that no handler serves is an error
  when it is compiled. With "handler if served", such a call runs its reference:
  tests and examples can run handlers with small arrays. `kit.explain` tells in
  the block what runs.

  Args:
    what: "handler", "handler if served" or "reference".

  Raises:
    ValueError: it is none of them.
  """
  known = [x.value for x in Preference if x.value]
  if what not in known:
    raise ValueError(f"kit.using takes one of {known}, got {what!r}.")
  return _using(Preference(what))


def preference() -> Preference:
  """Returns what calls that are traced now are to run."""
  return _using.value


def decided(
    platform: str,
    call: Any,
    dims: Dimensions,
    dtypes: Mapping[str, Any],
    backward: bool = False,
) -> Decision:
  """Returns whether a call runs its handler, and why not.

  Args:
    platform: "cpu" or "cuda".
    call: the forward call.
    dims: of that, or of its backward call.
    dtypes: of the operands, at least.
    backward: whether it is about the backward call.
  """
  op = call.op
  if call.preference is Preference.REFERENCE:
    return Decision(Code.ASKED, "`kit.using` asks for it")
  if problem := unserved_weight(op.weights, dtypes):
    return Decision(Code.WEIGHT, problem)
  if op.cores is not None and platform == "cpu":
    found = _of_cores(call, dims, dtypes, backward)
    if not found.runs_handler:
      return found
  return _of_conditions(platform, call, dims, dtypes, backward)


def _of_cores(call, dims, dtypes, backward):
  """Decides by what the build compiled, and for how many rows that pays."""
  op, attributes = call.op, call.attributes.plain
  core, cores = _core(call, dims, dtypes, backward)
  if core is None:
    avals = {n: jax.ShapeDtypeStruct(x, dtypes[n]) for n, x in cores.items()}
    found = list(map(_described, avals.items()))
    found += [f"{name}={value!r}" for name, value in attributes.items()]
    return Decision(
        Code.NOT_COMPILED,
        f"no handler was compiled for the cores {', '.join(found)}",
    )
  if core.refusal:
    return Decision(Code.NOT_COMPILED, core.refusal)
  least, rows = core.least_rows[backward], math.prod(dims.leading)
  ignores_speed = call.preference.ignores_speed or op.choice.strict
  if ignores_speed or not isinstance(rows, int):
    return _HANDLER
  if rows >= least:
    return _HANDLER
  return Decision(
      Code.FEW_ROWS,
      "it is faster" + f" below {least} rows" * math.isfinite(least),
  )


def _of_conditions(platform, call, dims, dtypes, backward):
  """Decides by the functions of the author."""
  op = call.op
  conditions: list[tuple[Code, str, Callable[..., bool]]] = []
  use_handler, is_faster = op.choice.use_handler, op.choice.is_faster
  if use_handler is not None:
    conditions.append((Code.NOT_SERVED, "use_handler", use_handler))
  if is_faster is not None and not call.preference.ignores_speed:
    is_faster = functools.partial(is_faster, backward=backward)
    conditions.append((Code.NOT_FASTER, "is_faster", is_faster))
  if not conditions:
    return _HANDLER
  # Each operand gets all loop dimensions, even one that rows share: a backward
  # call does not know which loop dimensions a forward operand had.
  avals = {
      name: jax.ShapeDtypeStruct(
          dims.full(call.core(name, dims.sizes), op.axes[name][1]).shape,
          dtypes[name],
      )
      for name in op.operands
  }
  sizes = (size for x in avals.values() for size in x.shape)
  if not all(isinstance(size, int) for size in sizes):
    return _HANDLER  # Symbolic.
  operands = [avals.get(name) for name in op.slots]
  for code, name, function in conditions:
    asked = keywords(function).intersection(dims.sizes)
    values = {n: dims.sizes[n] for n in asked} | call.attributes.plain
    if not function(*operands, platform=platform, **values):
      described = ", ".join(map(_described, avals.items()))
      return Decision(code, f"`{name}` is False for {described}")
  return _HANDLER


def _described(named):
  name, x = named
  return f"{name} {x.dtype}{list(x.shape)}"


def is_differentiated_by_jax(call: Any, operands: Sequence[Any]) -> bool:
  """Whether derivatives are those of the reference, for any number of rows.

  They are if the build compiled no handler for the core, or none that pays.
  Then jax adds up the gradients of shared operands inside the loop. A handler
  returns one gradient for each row; in that form, jax takes three times as
  long.
  """
  op = call.op
  rules = op.derivatives
  if op.cores is None or op.choice.strict or rules.jvp or rules.backward:
    return False
  dtypes = {name: x.dtype for name, x in call.named(operands).items()}
  core, _ = _core(call, call.dimensions(operands), dtypes, True)
  if core is None or core.refusal:
    return True
  never = math.isinf(core.least_rows[True])
  return never and not call.preference.ignores_speed


def _core(call, dims, dtypes, backward):
  """Returns what the build compiled for a call, or None; and its shapes."""
  cores = {name: call.core(name, dims.sizes) for name in call.op.operands}
  operands = [(core, dtypes[name]) for name, core in cores.items()]
  attributes = call.attributes.plain
  return call.op.cores.find(operands, attributes, backward), cores
