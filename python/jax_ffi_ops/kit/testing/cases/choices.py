# SPDX-License-Identifier: Apache-2.0
"""Cases that follow from one: other dtypes, operands left out, empty cores."""

from collections.abc import Collection, Iterable, Iterator
import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.calls.choice import Code
from jax_ffi_ops.kit.declare import sizes as core_sizes
from jax_ffi_ops.kit.dtypes import accumulator
from jax_ffi_ops.kit.testing.cases.case import Case
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH

_UNSERVED = (Code.NOT_COMPILED, Code.NOT_SERVED)


def presences(case: Case) -> Iterator[Case]:
  """Yields the case with each choice of the optional operands it has."""
  optional = [
      i for i in sorted(case.call.declared.signature.optional)
      if i < len(case.slots) and case.slots[i] is not None
  ]  # fmt: skip
  for chosen in itertools.product((True, False), repeat=len(optional)):
    left_out = {i for i, c in zip(optional, chosen) if not c}
    yield dataclasses.replace(
        case,
        slots=[None if i in left_out else x for i, x in enumerate(case.slots)],
    )


def extremes(cases: Iterable[Case]) -> list[Case]:
  """Returns the first and the last one."""
  first, *others = cases
  return [first, *others[-1:]]


def dtypes(case: Case, every: bool = True) -> Iterator[Case]:
  """Yields the case with each of the dtypes that handlers take.

  Operands that have one dtype in the case have one in all of them; weights have
  it too, or that of sums.

  Args:
    case: see above.
    every: whether weights have the dtype of sums, too.
  """
  for main, dtype in _main_dtypes(case):
    weights = dict.fromkeys((dtype, accumulator(dtype)))
    for weight in weights if every and _has_weights(case) else (dtype,):
      yield _with_dtypes(case, main, dtype, weight)


def mixed_dtypes(case: Case) -> Iterator[Case]:
  """Yields the case with each pair of dtypes that callers may mix."""
  every = list(_main_dtypes(case))
  for i, (main, dtype) in enumerate(every):
    if not _has_weights(case):
      yield _with_dtypes(case, main, dtype, dtype)
      continue
    # A few: each dtype once, with the next one.
    for _, weight in every if THOROUGH else [every[i - 1]]:
      yield _with_dtypes(case, main, dtype, weight)


def _has_weights(case):
  return any(name in case.op.weights for name in case.op.operands)


def _main_dtypes(case):
  """Yields the first operand that is no weight, and its dtypes.

  Of integers, and bool is one here, the narrowest and the widest are tried,
  unless tests are thorough.
  """
  op = case.op
  index = next(
      i for i, name in enumerate(op.operands) if name not in op.weights
  )
  first = jnp.dtype(case.operands[index].dtype)
  allowed = sorted(op.dtypes[index] or {first}, key=lambda d: d.name)
  integers = [d for d in allowed if not jnp.issubdtype(d, jnp.inexact)]
  integers.sort(key=lambda d: d.itemsize)
  skipped = () if THOROUGH else integers[1:-1]
  others = [d for d in allowed if d not in (first, *skipped)]
  for dtype in (first, *others):
    yield index, dtype


def _with_dtypes(case, main, dtype, weight):
  op = case.op
  first = jnp.dtype(case.operands[main].dtype)
  new = [
      weight if name in op.weights
      else dtype if jnp.dtype(x.dtype) == first
      else x.dtype
      for name, x in zip(op.operands, case.operands)
  ]  # fmt: skip
  given = iter(new)
  slots = [
      None if x is None else dataclasses.replace(x, dtype=next(given))
      for x in case.slots
  ]
  return dataclasses.replace(case, slots=slots)


def at_limits(case: Case) -> Iterator[Case]:
  """Yields the case, and with attributes at the least that they may be."""
  yield case
  least = {
      name: case.op.attributes[name].minimum
      for name in case.attributes
      if name in case.op.attributes
      and case.op.attributes[name].minimum is not None
  }
  if least:
    yield dataclasses.replace(case, attributes={**case.attributes, **least})


def other_attributes(case: Case) -> Iterator[Case]:
  """Yields the case with other values of its attributes.

  These are all other choices of its bools; and of a float, the negative one if
  it may be, and one that float32 does not hold exactly.
  """
  own = {
      name: (case.op.attributes[name], value)
      for name, value in case.attributes.items()
      if name in case.op.attributes
  }
  kinds = {
      name: np.dtype(attribute.type).kind
      for name, (attribute, _) in own.items()
      if not isinstance(attribute.type, list)
  }
  flags = {name: bool(own[name][1]) for name in kinds if kinds[name] == "b"}
  for chosen in itertools.product((False, True), repeat=len(flags)):
    others = dict(zip(flags, chosen))
    if others != flags:
      yield _with_attributes(case, others)
  for name in kinds:
    attribute, value = own[name]
    if kinds[name] == "f" and value:
      least = attribute.minimum or 0
      yield _with_attributes(case, {name: least + (value - least) * 0.7})
      if attribute.allows(-value):
        yield _with_attributes(case, {name: -value})


def _with_attributes(case, others):
  return dataclasses.replace(case, attributes={**case.attributes, **others})


# A column, what leaves most of a vector of any length as a rest, and more than
# the blocks that are added up; then what leaves no rest.
_SIZES = (1, 31, 1023, 8199, 2, 32, 64, 128)
_FEW_SIZES = (31, 128, 8199)  # for further dtypes
_LEAST_SIZES = (31, 128)  # for weights of other dtypes
_WIDE = 64  # with many rows
_LARGEST = 2**20  # Elements of a core: (n,n) has no row of 8199.
_MOST = 2**18  # Terms of a definition where all dimensions are of one size.


def sizes(case: Case, is_first: bool) -> Iterator[Case]:
  """Yields the case with other sizes of a core dimension, or of all of them.

  Args:
    case: see above.
    is_first: whether its dtypes are the first ones that are tried.
  """
  sizes_to_try = _SIZES
  if not (THOROUGH or is_first):
    sizes_to_try = _LEAST_SIZES if _has_wide_weights(case) else _FEW_SIZES
  every = tuple(dims(case))
  first = None
  for size in sizes_to_try:
    changes = [(dim,) for dim in every]
    if len(every) > 1 and size ** len(every) <= _MOST:
      changes.append(every)
    for changed in changes:
      other = resized(case, changed, size)
      if any(math.prod(x.core) > _LARGEST for x in other.operands):
        continue
      if not _is_served(case, other):
        continue
      # What is called takes long to find, and does not depend on sizes: unless
      # the first one shows that it does.
      first = first or other
      if first.call.attributes == case.call.attributes:
        vars(other).update(call=case.call)
      yield other


def _has_wide_weights(case):
  """Returns whether weights have not the dtype of what they belong to."""
  dtypes = dict(zip(case.op.operands, (x.dtype for x in case.operands)))
  return any(
      name in dtypes and jnp.dtype(dtypes[name]) != jnp.dtype(dtypes[main])
      for name, main in case.op.weights.items()
  )


def wide(case: Case) -> Case:
  """Returns the case with cores of whole vectors, as large as is cheap."""
  every = tuple(dims(case))
  for size in (_WIDE, 16, 8, 4):
    other = resized(case, every, size)
    # A filter of many sections takes as many steps as all dimensions multiply to.
    steps = size ** len(every)
    if max(steps, *(math.prod(x.core) for x in other.operands)) <= _WIDE**2:
      if _is_served(case, other):
        return other
  return case


def empty_cores(case: Case) -> Iterator[Case]:
  """Yields the case with each core dimension of size 0, if it has results."""
  if case.empty_cores:
    empty = (resized(case, (dim,), 0) for dim in dims(case))
    yield from (other for other in empty if _is_served(case, other))


def _is_served(case, other):
  """Returns whether handlers serve a case with other sizes of cores."""
  avals = [jax.ShapeDtypeStruct(x.core, x.dtype) for x in other.operands]
  return case.call.decided("cpu", avals).code not in _UNSERVED


def dims(case: Case) -> Iterable[str]:
  """Returns the core dimensions of the operands that are there."""
  return case.op.signature.names


def resized(case: Case, changed: Collection[str], size: int) -> Case:
  """Returns the case with another size of some core dimensions."""
  cores = iter(case.op.signature.operands)
  slots = []
  for x in case.slots:
    if x is not None:
      core = zip(next(cores), x.core)
      core = tuple(_resized(d, own, changed, size) for d, own in core)
      x = dataclasses.replace(x, core=core)
    slots.append(x)
  return dataclasses.replace(case, slots=slots)


def _resized(dim, own, changed, size):
  name = core_sizes.parse(dim).name
  return core_sizes.size(dim, {name: size}) if name in changed else own


def label(case: Case) -> str:
  """Returns what a case is called with."""
  operands = zip(case.op.operands, case.operands)
  return ", ".join(f"{name}: {jnp.dtype(x.dtype)}" for name, x in operands)
