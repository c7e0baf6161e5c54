# SPDX-License-Identifier: Apache-2.0
"""Says which of handler and reference a call runs, on each platform."""

import bisect
import itertools
import math
from typing import Any
import warnings

import jax
import numpy as np

from jax_ffi_ops.kit.calls.choice import Code
from jax_ffi_ops.kit.calls.choice import Preference
from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.equations import equations
from jax_ffi_ops.kit.function import Op
from jax_ffi_ops.kit.load.cores import NotCompiledWarning
from jax_ffi_ops.kit.load.library import PLATFORMS

_LARGEST = 2**40  # More elements than a computer's memory has.


def explain(function: Any, *arguments: Any, **keywords: Any) -> str:
  """Returns what the ops of a call run on each platform, and why.

    kit.explain(rms_norm, x, scale)
    kit.explain(quantile, x, 0.5, axis=1)

  The call is traced as jax.jit traces it; nothing is computed. The text has a
  line for each op and platform. It also names the rules that compute gradients.
  Where the call is too small for a handler, it says which size is not.
  On several devices, pass the shapes of one device's part: they decide.

  Args:
    function: an op, one of our functions, or one of yours that calls some.
    *arguments: as in the call. A jax.ShapeDtypeStruct may stand for an array.
      Other arguments, such as an axis, are constants.
    **keywords: as in the call.
  """
  leaves, tree = jax.tree.flatten((arguments, keywords))
  arrays = {i: x for i, x in enumerate(leaves) if _is_array(x)}
  lines = []

  def call(arrays):
    every = [arrays.get(i, x) for i, x in enumerate(leaves)]
    positional, named = jax.tree.unflatten(tree, every)
    return function(*positional, **named)

  with warnings.catch_warnings():  # The text says what they would.
    warnings.simplefilter("ignore", NotCompiledWarning)
    for equation in equations(jax.make_jaxpr(call)(arrays).jaxpr):
      own = equation.params.get("call")
      if isinstance(own, ForwardCall):
        lines.extend(_lines(own, [x.aval for x in equation.invars]))
  name = _name(function)
  if not lines:
    why = f": {refusal}" if (refusal := _refusal(function)) else ""
    return (
        f"{name}: no op is called, and so no handler: jax alone runs this"
        f" call{why}"
    )
  lines = dict.fromkeys(lines)  # Each of them once.
  return "\n".join(
      f"{name}: {line}" * (op != name) or line for op, line in lines
  )


def _refusal(function):
  """Returns why what a function was made into last cannot be compiled.

  Or for which calls it has handlers, if `kit.public` says so.
  """
  if serves := getattr(function, "serves", ""):
    return f"there are handlers for {serves}"
  ops = [x.declaration for x in getattr(function, "ops", ())]
  if not ops or ops[-1].cores is None:
    return ""
  found = ops[-1].cores.find((), {}, backward=False)
  return found.refusal if found else ""


def _name(function):
  if isinstance(function, Op):
    return function.declaration.name
  return getattr(function, "__name__", str(function))


def _is_array(x):
  known = hasattr(x, "shape") and hasattr(x, "dtype")
  return known and not isinstance(x, type | np.generic)


def _lines(call, avals):
  op = call.op
  rules = op.derivatives
  rule = "reference"
  if rules.backward or rules.jvp:
    rule = f"rule `{'backward' if rules.backward else 'jvp'}`"
  by_transpose, others = _gradients(op, avals)
  along = f" for {', '.join(others)}" if by_transpose else ""
  must_run = call.preference is Preference.HANDLER
  known = op.forward_platforms | op.backward_platforms
  for platform in (*[x for x in PLATFORMS if x in known], "elsewhere"):

    def runs(target, platforms, otherwise, along="", backward=False):
      is_error = must_run and bool(platforms)
      if platform not in platforms:
        reason = "there is no handler"
      else:
        reason = _reason(call, platform, avals, backward)
        is_error |= (
            op.choice.strict and call.preference is not Preference.REFERENCE
        )
      if reason and is_error:
        return f"error ({reason})"
      if reason:
        return f"{otherwise}{along} ({reason})"
      return f"handler {target}{along}"

    forward = runs(op.forward_target, op.forward_platforms, "reference")
    backward = runs(
        op.backward_target, op.backward_platforms, rule, along, True
    )
    if by_transpose and not others:
      backward = "rule `transpose`"
    elif by_transpose:
      backward = f"rule `transpose` for {', '.join(by_transpose)}, {backward}"
    where = f"on {platform}" if platform in known else platform
    yield (
        op.name,
        f"{op.name} {where}: forward: {forward}; backward: {backward}",
    )


def _reason(call, platform, avals, backward):
  """Returns why a call runs no handler, and for which sizes it would."""
  code, reason = call.decided(platform, avals, backward)
  if code is not Code.NOT_FASTER:
    return reason
  dims = call.dimensions(avals)

  def runs(sizes, leading):
    larger = _resized(call, avals, sizes, leading)
    return call.decided(platform, larger, backward).runs_handler

  texts = []
  for name, size in dims.sizes.items():
    if n := _least(size, lambda n, name=name: runs({name: n}, dims.leading)):
      texts.append(f"{name} = {n}")
  if n := _least(math.prod(dims.leading), lambda n: runs({}, (n,))):
    texts.append(f"{n} rows")
  return f"{reason}, and True from {' or '.join(texts)} on" if texts else reason


def _least(size, runs):
  """Returns the size above `size` from which on a handler runs, if any."""
  doubled = (max(size, 1) << i for i in itertools.count(1))
  larger = itertools.takewhile(lambda n: n <= _LARGEST, doubled)
  high = next(filter(runs, larger), None)
  if high is None:
    return None
  return bisect.bisect_left(
      range(high), True, max(size, high // 2), high, key=runs
  )


def _resized(call, avals, sizes, leading):
  """Returns operands with other sizes of core dimensions, and other loops."""
  op, dims = call.op, call.dimensions(avals)
  larger = []
  for name, x in zip(op.operands, avals, strict=True):
    core = call.core(name, {**dims.sizes, **sizes})
    loops = ((), ()) if name in op.parameters else (leading, dims.trailing)
    behind = loops[1] if op.axes[name][1] else ()
    shape = (*loops[0], *core, *behind)
    larger.append(jax.ShapeDtypeStruct(shape, x.dtype))
  return larger


def _gradients(op, avals):
  """Returns which operands' gradients `transpose=` computes, and the others."""
  found = [], []
  for name, x in zip(op.operands, avals):
    if op.is_differentiable(x.dtype):
      found[name not in op.own_tangents].append(name)
  return found
