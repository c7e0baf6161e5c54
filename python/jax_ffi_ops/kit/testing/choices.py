# SPDX-License-Identifier: Apache-2.0
"""Cases that follow from one: other dtypes, operands left out, empty cores."""

from collections.abc import Collection, Iterable, Iterator
import dataclasses
import itertools
import math

import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.declare import sizes as core_sizes
from jax_ffi_ops.kit.dtypes import accumulator
from jax_ffi_ops.kit.testing.case import Case


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


def dtypes(case: Case) -> Iterator[Case]:
  """Yields the case with each of the dtypes that handlers take.

  Operands that have one dtype in the case have one in all of them; weights have
  it too, or that of sums.
  """
  for main, dtype in _main_dtypes(case):
    weights = dict.fromkeys((dtype, accumulator(dtype)))
    for weight in weights if _has_weights(case) else (dtype,):
      yield _with_dtypes(case, main, dtype, weight)


def mixed_dtypes(case: Case) -> Iterator[Case]:
  """Yields the case with each pair of dtypes that callers may mix."""
  for main, dtype in _main_dtypes(case):
    for _, weight in (
        _main_dtypes(case) if _has_weights(case) else ((0, dtype),)
    ):
      yield _with_dtypes(case, main, dtype, weight)


def _has_weights(case):
  return any(name in case.op.weights for name in case.op.operands)


def _main_dtypes(case):
  """Yields the first operand that is no weight, and its dtypes."""
  op = case.op
  index = next(
      i for i, name in enumerate(op.operands) if name not in op.weights
  )
  first = jnp.dtype(case.operands[index].dtype)
  allowed = op.dtypes[index] or {first}
  for dtype in sorted(allowed, key=lambda d: (d != first, d.name)):
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
  """Yields the case with the opposite of each attribute that has one.

  That is another value of a bool, and of a float the negative one if it may be.
  """
  for name in case.attributes:
    attribute, value = case.op.attributes.get(name), case.attributes[name]
    if attribute is None or isinstance(attribute.type, list):
      continue
    kind = np.dtype(attribute.type).kind
    if kind == "b":
      yield _with_attribute(case, name, not value)
    elif kind == "f" and attribute.minimum is None and value:
      yield _with_attribute(case, name, -value)


def _with_attribute(case, name, value):
  return dataclasses.replace(case, attributes={**case.attributes, name: value})


# A column, what leaves most of a vector of any length as a rest, and more than
# the blocks that are added up; then what leaves no rest.
_SIZES = (1, 31, 1023, 8199, 2, 32, 64, 128)
_LARGEST = 2**20  # Elements of a core: (n,n) has no row of 8199.
_MOST = 2**18  # Terms of a definition where all dimensions are of one size.


def sizes(case: Case) -> Iterator[Case]:
  """Yields the case with other sizes of a core dimension, or of all of them."""
  every = tuple(dims(case))
  for size in _SIZES:
    for dim in every:
      other = resized(case, (dim,), size)
      if all(math.prod(x.core) <= _LARGEST for x in other.operands):
        yield other
    if len(every) > 1 and size ** len(every) <= _MOST:
      yield resized(case, every, size)


def empty_cores(case: Case) -> Iterator[Case]:
  """Yields the case with each core dimension of size 0, if it has results."""
  if case.empty_cores:
    yield from (resized(case, (dim,), 0) for dim in dims(case))


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
  factor, name = core_sizes.split(dim)
  return factor * size if name in changed else own


def label(case: Case) -> str:
  """Returns what a case is called with."""
  operands = zip(case.op.operands, case.operands)
  return ", ".join(f"{name}: {jnp.dtype(x.dtype)}" for name, x in operands)
