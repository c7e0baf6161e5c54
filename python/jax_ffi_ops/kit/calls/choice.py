# SPDX-License-Identifier: Apache-2.0
"""Whether a call runs its handler or the reference, and why."""

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import functools
import math
from typing import Any

import jax

from jax_ffi_ops.kit.calls.dimensions import Dimensions
from jax_ffi_ops.kit.declare.author_functions import keywords
from jax_ffi_ops.kit.dtypes import unserved_weight

# How the reason begins if `is_faster` is it.
NOT_FASTER = "`is_faster` is False for"

# One for each context: threads enter and leave them in any order.
_contexts: list[None] = []


def at_any_speed() -> bool:
  """Whether calls that are traced now ignore `is_faster`."""
  return bool(_contexts)


@contextlib.contextmanager
def handlers_at_any_speed() -> Iterator[None]:
  """Makes calls run handlers, whatever `is_faster` says.

  It is for all calls that are traced inside, in all threads. So tests and
  examples can run handlers with small arrays.
  """
  _contexts.append(None)
  try:
    yield
  finally:
    _contexts.pop()


def declined(
    platform: str,
    call: Any,
    dims: Dimensions,
    dtypes: Mapping[str, Any],
    backward: bool = False,
) -> str | None:
  """Returns why a call does not run its handler, or None if it does.

  Args:
    platform: "cpu" or "cuda".
    call: the forward call.
    dims: of that, or of its backward call.
    dtypes: of the operands, at least.
    backward: whether it is about the backward call.
  """
  op = call.op
  problem = unserved_weight(op.weights, dtypes)
  if problem is None and op.cores is not None and platform == "cpu":
    problem = _unserved_core(call, dims, dtypes, backward)
  conditions = {}
  if op.use_handler is not None:
    conditions["`use_handler` is False for"] = op.use_handler
  if op.is_faster is not None and not call.at_any_speed:
    conditions[NOT_FASTER] = functools.partial(op.is_faster, backward=backward)
  if problem is not None or not conditions:
    return problem
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
    return None  # Symbolic.
  operands = [avals.get(name) for name in op.slots]
  for reason, function in conditions.items():
    asked = keywords(function).intersection(dims.sizes)
    values = {name: dims.sizes[name] for name in asked} | call.attributes.plain
    if not function(*operands, platform=platform, **values):
      return f"{reason} {', '.join(map(_described, avals.items()))}"
  return None


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
  if op.cores is None or op.strict or op.jvp or op.backward:
    return False
  dtypes = {name: x.dtype for name, x in call.named(operands).items()}
  core, _ = _core(call, call.dimensions(operands), dtypes)
  never = core is not None and math.isinf(core.least_rows[True])
  return core is None or (never and not call.at_any_speed)


def _core(call, dims, dtypes):
  """Returns what the build compiled for a call, or None; and its shapes."""
  cores = {name: call.core(name, dims.sizes) for name in call.op.operands}
  operands = [(core, dtypes[name]) for name, core in cores.items()]
  return call.op.cores.find(operands, call.attributes.plain), cores


def _unserved_core(call, dims, dtypes, backward):
  """Returns why no handler was compiled for a call, or why that is slower."""
  op, attributes = call.op, call.attributes.plain
  core, cores = _core(call, dims, dtypes)
  if core is None:
    avals = {n: jax.ShapeDtypeStruct(x, dtypes[n]) for n, x in cores.items()}
    found = list(map(_described, avals.items()))
    found += [f"{name}={value!r}" for name, value in attributes.items()]
    return f"no handler was compiled for the cores {', '.join(found)}"
  least, rows = core.least_rows[backward], math.prod(dims.leading)
  if call.at_any_speed or op.strict or not isinstance(rows, int):
    return None
  if rows >= least:
    return None
  return "it is faster" + f" below {least} rows" * math.isfinite(least)
