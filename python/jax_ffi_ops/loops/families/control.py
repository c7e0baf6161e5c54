# SPDX-License-Identifier: Apache-2.0
"""Loops and branches: scan, while, cond; and calls of other jaxprs.

What differs between lanes is found first (uniform.py). A loop that all lanes
leave at once is a plain loop. One that lanes leave at different steps goes on
until the last has left, and keeps the results of those that have. A branch
that differs between lanes computes all cases that some lane takes, and selects.
"""

import functools

import jax
from jax.extend import core as jex_core
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.loops import changes
from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import jaxprs
from jax_ffi_ops.loops import rules
from jax_ffi_ops.loops import uniform
from jax_ffi_ops.loops import values
from jax_ffi_ops.loops.rules import rule

# Carries of more elements are in memory if steps compute their indices: to
# index registers, a step copies them to memory. So the gradient of diffrax'
# Tsit5, which keeps 31 checkpoints, has half the lines.
_MOST_INDEXED = 16


def _variables(body, starts, lanes, others, indexed) -> list[values.Value]:
  """Returns what holds the carries of a loop.

  Args:
    body: what is being written.
    starts: the carries before the first step.
    lanes: which of them will differ between lanes.
    others: what else the loop reads.
    indexed: the numbers of the carries that steps read or change at indices
      that vary.
  """
  found = []
  for k, (start, own) in enumerate(zip(starts, lanes, strict=True)):
    most = _MOST_INDEXED if k in indexed else values.SMALL
    if values.is_small(start.shape, most):
      found.append(_variable(body, start, own))
      continue
    # Memory that nothing reads later becomes the carry without a copy.
    rest = values.reads([*starts[:k], *starts[k + 1 :], *others])
    keep = body.writer.copied if start.reads & rest else body.changing
    found.append(keep(start, own))
  return found


def _constants(args) -> list[int]:
  return [i for i, x in enumerate(args) if isinstance(x, values.Constant)]


def _variable(body, start: values.Value, lanes: bool) -> values.Value:
  """Returns C++ variables for the elements of a small array."""
  writer = body.writer
  names = [
      writer.variable(text, start.dtype, lanes, "c")
      for text in writer.names_in_lanes(start, lanes).ravel()
  ]
  return values.Scalars.of(
      values.objects(names, start.shape), start.dtype, lanes
  )


def _assign(body, variables, results, mask=None) -> None:
  """Gives all variables their next values; with a mask, in some lanes."""
  writer, waiting = body.writer, []
  # All are computed before the first variable changes.
  for to, value in zip(variables, results, strict=True):
    own = mask if to.lanes else None
    if isinstance(to, values.Memory):
      if to.lanes:  # It may be older than what only some lanes run.
        own = mask or body.mask
      is_memory = isinstance(value, values.Memory)
      if is_memory and value.buffer == to.buffer and value.is_whole:
        continue  # Changed in place.
      others = values.reads(x for x in variables if x is not to)
      own_too = value.reads & to.reads and not value.is_in_place(to)
      if own_too or value.reads & others:
        value = writer.copied(value, value.lanes)
      # Arrays first: their elements may be made of variables that are scalars.
      waiting.insert(0, functools.partial(writer.store, to, value, own))
      continue
    names = writer.names_in_lanes(value, to.lanes).ravel()
    for name, text in zip(to.names.ravel(), names):
      if text == name:
        continue
      if own:
        text = cpp.code("Select({}, {}, {})", own, text, name)
      # A variable in it may change first.
      if not text.is_constant:
        text = writer.let(text, to.dtype, to.lanes)
      waiting.append(functools.partial(writer.assign, name, text))
  for write in waiting:
    write()


# The most elements of an operand that are copied before a loop. So many stay in
# the cache.
_MOST_COPIED = 1024


def _constant(body, value):
  """Returns what each step of a loop reads, as something that is fast to read.

  The lanes of an operand are rows that are apart; those of a copy are vectors.
  """
  value = body.settled(value)
  if not isinstance(value, values.Memory) or not value.lanes:
    return value
  if value.buffer.kind != values.Kind.OPERAND or not values.is_small(
      value.shape, _MOST_COPIED
  ):
    return value
  return body.writer.copied(value, True)


@rule("scan", of_keys=True, folds=False)
def _scan(body, equation, *args):
  writer, params = body.writer, equation.params
  consts, carries = jaxprs.scan_counts(params)
  length, closed = params["length"], params["jaxpr"]
  lanes, varying = uniform.scan(params, [x.lanes for x in args])
  fixed = [_constant(body, x) for x in args[:consts]]
  xs = [writer.in_memory(x) for x in args[consts + carries :]]
  starts = args[consts : consts + carries]
  indexed = changes.indexed_by_scan(params, _constants(args))
  indexed = {i - consts for i in indexed}
  carry = _variables(body, starts, lanes, [*fixed, *xs], indexed)
  ys = list(equation.destinations[carries:])
  for k, variable in enumerate(equation.of.outvars[carries:]):
    if ys[k] is None and equation.uses[carries + k]:
      own = jaxprs.physical(variable.aval)
      ys[k] = writer.buffer(*own, varying[carries + k])
  with writer.loop(length, "t") as step:
    t = step
    if params["reverse"]:
      t = cpp.code("({} - 1 - {})", cpp.dim(length), step)
    rows = [body.loaded(x.row(t)) for x in xs]
    found = body.run(
        closed, [*fixed, *carry, *rows], pinned=values.reads([*fixed, *xs])
    )
    for to, value in zip(ys, found[carries:]):
      if to is not None:
        writer.store(to.row(t), value)
    _assign(body, carry, found[:carries])
  dropped = values.Constant.of(np.zeros(()))
  return [*carry, *(dropped if y is None else y for y in ys)]


@rule("while", of_keys=True, folds=False)
def _while(body, equation, *args):
  writer, params = body.writer, equation.params
  first, second = params["cond_nconsts"], params["body_nconsts"]
  if params["cond_jaxpr"].out_avals[0].shape:
    if any(jaxprs.is_key(x.aval) for x in equation.of.invars):
      raise errors.Unsupported("of keys of jax.random")
    return body.retrace(functools.partial(while_of_some, params), *args)
  ragged, lanes = uniform.while_loop(params, [x.lanes for x in args])
  fixed = [_constant(body, x) for x in args[: first + second]]
  of_cond, of_body = fixed[:first], fixed[first:]
  indexed = changes.indexed_by_while(params, _constants(args))
  indexed = {i - first - second for i in indexed}
  carry = _variables(body, args[first + second :], lanes, fixed, indexed)
  pinned = values.reads(fixed)
  with writer.block("while (true)"):
    kept = pinned | values.reads(carry)
    (goes_on,) = body.run(params["cond_jaxpr"], [*of_cond, *carry], pinned=kept)
    text = writer.names_of(goes_on).item()
    if ragged and body.mask:
      text = writer.let(cpp.code("{} & {}", text, body.mask), bool, True)
    writer.line("if (!Any({})) break;" if ragged else "if (!{}) break;", text)
    mask = text if ragged else None
    step = params["body_jaxpr"]
    found = body.run(step, [*of_body, *carry], pinned=pinned, mask=mask)
    _assign(body, carry, found, mask)
  return carry


def while_of_some(params, *args):
  """A `while` under vmap, whose condition is an array: it ends with the last."""
  first, second = params["cond_nconsts"], params["body_nconsts"]
  of_cond, of_body = args[:first], args[first : first + second]
  cond = jex_core.jaxpr_as_fun(params["cond_jaxpr"])
  body = jex_core.jaxpr_as_fun(params["body_jaxpr"])

  def step(state):
    goes_on, carry = state

    def chosen(new, old):
      ones = (1,) * (new.ndim - goes_on.ndim)
      return jnp.where(goes_on.reshape(*goes_on.shape, *ones), new, old)

    carry = list(map(chosen, body(*of_body, *carry), carry))
    return cond(*of_cond, *carry)[0], carry

  carry = list(args[first + second :])
  start = cond(*of_cond, *carry)[0], carry
  return jax.lax.while_loop(lambda state: jnp.any(state[0]), step, start)[1]


def _changed(body, branches, k, args, lanes) -> values.Memory | None:
  """Returns the operand that branches change or pass on as result k, if any.

  It has to be memory that nothing reads later.
  """
  for branch in branches:
    i = changes.changed_operand(branch.jaxpr, k)
    if i is not None and body.may_change(args[i], lanes):
      return args[i]
  return None


@rule("cond", of_keys=True, folds=False)
def _cond(body, equation, which, *args):
  writer, branches = body.writer, equation.params["branches"]
  if isinstance(which, values.Constant):
    k = int(np.clip(int(which.array), 0, len(branches) - 1))
    return body.run(branches[k], args)
  args = [body.settled(x) for x in args]
  flags = [x.lanes for x in args]
  varying = [uniform.varying(b.jaxpr, flags) for b in branches]
  lanes = [which.lanes or any(x) for x in zip(*varying)]
  outs = []
  for k, (variable, own) in enumerate(zip(equation.of.outvars, lanes)):
    shape, dtype = jaxprs.physical(variable.aval)
    changed = _changed(body, branches, k, args, own)
    if changed is None and values.is_small(shape):
      zero = values.Constant.of(np.zeros(shape, dtype))
      outs.append(_variable(body, zero, own))
      continue
    # An operand changes once.
    is_new = changed is None or changed.reads & values.reads(outs)
    outs.append(writer.buffer(shape, dtype, own) if is_new else changed)
  pinned = values.reads(args) - values.reads(outs)
  name = writer.names_of(which).item()
  last = len(branches) - 1
  for k, branch in enumerate(branches):
    sign = "<=" if k == 0 else ">=" if k == last else "=="
    test = cpp.code("{} {} {}", name, sign, k)
    mask = None
    if which.lanes:
      mask = cpp.code("As<mask_v>({})", test)
      if body.mask:
        mask = cpp.code("{} & {}", mask, body.mask)
      mask = writer.let(mask, bool, True)
      test = cpp.code("Any({})", mask)
    with writer.block("if ({})", test):
      found = body.run(branch, args, pinned=pinned, mask=mask)
      _assign(body, outs, found, mask)
  return outs


@rule(*rules.CALLS, of_keys=True, of_patches=True, folds=False)
def _call(body, equation, *args):
  return body.call(rules.callee(equation.of), args, equation.destinations)


@rule("custom_linear_solve")
def _custom_linear_solve(body, equation, *args):
  lengths = equation.params["const_lengths"]
  begin = lengths.matvec + lengths.vecmat
  end = begin + lengths.solve
  operands = args[end + lengths.transpose_solve :]
  solve = equation.params["jaxprs"].solve
  return body.run(solve, [*args[begin:end], *operands])


@rule("platform_index", folds=False)
def _platform(body, equation):
  del body
  of_cpu = [not x or "cpu" in x for x in equation.params["platforms"]]
  return values.Constant.of(np.int32(of_cpu.index(True)))
