# SPDX-License-Identifier: Apache-2.0
"""The kernels of an op: one per core, dtypes and pass, each with its C++."""

from collections.abc import Callable, Iterator, Mapping, Sequence
import dataclasses
import itertools
from typing import Any

import jax
from jax import export
from jax.extend import core as jex_core
import numpy as np

from jax_ffi_ops.kit import _jax
from jax_ffi_ops.kit.declare import sizes as core_sizes
from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.dtypes import is_differentiable
from jax_ffi_ops.loops import complex_numbers
from jax_ffi_ops.loops import copies
from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import definitions
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import families as families  # All rules.
from jax_ffi_ops.loops import hoisting
from jax_ffi_ops.loops import jaxprs
from jax_ffi_ops.loops import rewriting
from jax_ffi_ops.loops import values
from jax_ffi_ops.loops.body import Body
from jax_ffi_ops.loops.recompute import recomputing
from jax_ffi_ops.loops.writer import Writer

Core = Mapping[str, Any]

# Small enough for what is limited, and even.
_SOME_SIZE = 8


@dataclasses.dataclass(frozen=True)
class Array:
  """An operand or a result of a handler.

  Attributes:
    name: of it.
    dims: of its core: sizes, and names of open ones.
    dtype: of its elements.
    shared: whether all rows have it in common.
    in_lanes: whether a kernel has a copy of it, as vectors: see copies.py.
  """

  name: str
  dims: tuple[str, ...]
  dtype: np.dtype
  shared: bool = False
  in_lanes: bool = False


@dataclasses.dataclass(frozen=True)
class Kernel:
  """One compiled core.

  Attributes:
    name: of the C++ struct.
    core: the sizes that it is for; other dimensions are open. And attributes.
    attributes: their values alone.
    operands: what it reads.
    results: what it writes.
    writer: has its text.
    unread: the operands on which nothing depends.
    backward: whether it is of the backward handler.
  """

  name: str
  core: Core
  attributes: Core
  operands: tuple[Array, ...]
  results: tuple[Array, ...]
  writer: Writer
  unread: frozenset[str]
  backward: bool

  @property
  def arrays(self) -> tuple[Array, ...]:
    return self.operands + self.results

  @property
  def element_bytes(self) -> int:
    return _element_bytes(self.arrays)


def _element_bytes(arrays: Sequence[Array]) -> int:
  """Returns the size that decides how many lanes a vector has."""
  dtypes = [cpp.real(x.dtype) for x in arrays]
  if any(map(cpp.is_float, dtypes)):
    return 8 if any(cpp.scalar(x) == "double" for x in dtypes) else 4
  return 8 if all(x.itemsize == 8 for x in dtypes) else 4


def kernels_of(
    op: Declaration,
    cores: Sequence[Core],
    shared: Sequence[str],
    backward: bool,
    x64: bool | None = None,
) -> list[Kernel]:
  """Returns the kernels of an op's forward or backward handler.

  Args:
    op: the declaration.
    cores: attributes, and sizes of core dimensions, by name. Dimensions that
      are not there are open.
    shared: operands that all rows of a call usually have in common.
    backward: which handler.
    x64: whether jax has 64 bits in the reference; by default, if operands have.
  """
  _check(op, cores, shared, backward)
  found = []
  for core, dtypes in itertools.product(cores, _dtypes(op)):
    name = f"{'Backward' if backward else 'Forward'}{len(found)}"
    has_64_bits = any(cpp.real(d).itemsize == 8 for d in dtypes.values())
    with jax.enable_x64(has_64_bits if x64 is None else x64):
      try:
        found.append(_kernel(op, name, core, dtypes, shared, backward))
      except errors.Unsupported as error:
        where = [op.name, "backward" if backward else "forward"]
        where += [str(core)] if core else []
        where += [error.where] if error.where else []
        raise errors.Unsupported(
            _with_sizes(error.what, op, core, dtypes, shared, backward),
            ", ".join(where),
        ) from error
  return found


def _with_sizes(what, op, core, dtypes, shared, backward) -> str:
  """Returns a message with the sizes that help if they are known, if any do."""
  sides = [*op.signature.operands, *op.signature.results]
  named = [d for d in core_sizes.names(sides) if not d.isdigit()]
  unknown = [d for d in named if d not in core]
  choices = [(d,) for d in unknown] + [tuple(unknown)] * (len(unknown) > 1)
  for some in choices:
    known = dict(core) | dict.fromkeys(some, _SOME_SIZE)
    try:
      _kernel(op, "", known, dtypes, shared, backward)
    except errors.Unsupported:
      continue
    sizes = " and of ".join(some)
    return f"{what}; it needs the size of {sizes}: give it in cores"
  return what


def _check(op, cores, shared, backward):
  rules = op.derivatives
  for what, value in {
      "optional operands": op.signature.optional,
      "trailing loops": op.signature.starred,
      "attributes that are no scalars": any(
          x.is_dictionary or isinstance(x.type, list)
          for x in op.attributes.values()
      ),
      "`Operand.parameter`": op.parameters,
      "`Derivatives.residuals`": rules.residuals,
      "`Results.sizes`": op.results.sizes,
      "`Operand.stretched`": op.stretched,
      "`Operand.weight_of`": op.weights,
      "`Derivatives.skips_gradients`": rules.skips_gradients,
      "no reference": op.reference is None,
      "no `dtypes`": None in op.dtypes,
      "its own rule of derivatives": backward
      and (rules.jvp or rules.transpose or rules.backward),
  }.items():
    if value:
      raise errors.Unsupported(f"an op with {what}", op.name)
  names = core_sizes.names([*op.signature.operands, *op.signature.results])
  for core in cores:
    if unknown := sorted(set(core).difference(names, op.attributes)):
      raise errors.Unsupported(
          f"the core {dict(core)} has {unknown}, but the signature is"
          f" {op.signature}",
          op.name,
      )
    if absent := sorted(set(op.attributes).difference(core)):
      raise errors.Unsupported(f"the core {dict(core)} lacks {absent}", op.name)
  if unknown := sorted(set(shared).difference(op.operands)):
    raise errors.Unsupported(f"no operand is named {unknown}", op.name)


def _dtypes(op: Declaration) -> Iterator[dict[str, np.dtype]]:
  """Yields the choices of dtypes for the operands."""
  allowed = dict(zip(op.operands, op.dtypes))
  free = [name for name in op.operands if op.same_dtype.get(name, name) == name]
  choices = [sorted(allowed[name], key=str) for name in free]
  for choice in itertools.product(*choices):
    chosen = dict(zip(free, choice))
    yield {n: chosen[op.same_dtype.get(n, n)] for n in op.operands}


def _kernel(op, name, core, dtypes, shared, backward):
  aval = _sizes(core)
  operands = [
      Array(n, dims, dtypes[n], n in shared)
      for n, dims in zip(op.operands, op.signature.operands)
  ]

  attributes = {
      a: x.convert(op.name, a, core[a]).plain for a, x in op.attributes.items()
  }

  def forward(*arrays):
    return op.reference(dict(zip(op.operands, arrays)), attributes)

  found = _traced(jax.eval_shape, forward, *map(aval, operands))
  results = [
      Array(n, dims, x.dtype)
      for n, dims, x in zip(op.result_names, op.signature.results, found)
  ]
  function = forward
  if backward:
    function, operands, results = _pull_back(forward, operands, results)
  closed = _simplified(function, aval, operands)
  operands, results = _with_copies(closed, aval, operands, results)
  writer, unread = _written(name, aval, closed, operands, results)
  return Kernel(
      name,
      core,
      attributes,
      tuple(operands),
      tuple(results),
      writer,
      unread,
      backward,
  )


def _with_copies(closed, aval, operands, results):
  """Returns the operands and the results, and which of them are copied."""
  element_bytes = _element_bytes([*operands, *results])

  def copied(array, is_worth):
    shape, dtype = complex_numbers.stored(aval(array).shape, array.dtype)
    is_alike = dtype.itemsize == element_bytes and not array.shared
    return dataclasses.replace(array, in_lanes=is_alike and is_worth(shape))

  flat = rewriting.without_calls(closed.jaxpr)
  operands = [
      copied(x, copies.is_worth_reading) if is_read else x
      for x, is_read in zip(operands, copies.read(flat), strict=True)
  ]
  results = [
      copied(x, lambda n: copies.is_worth_writing(n, element_bytes, is_outside))
      for x, is_outside in zip(results, copies.written(flat), strict=True)
  ]
  return operands, results


def _pull_back(forward, operands, results):
  """Returns the function of a backward pass, its operands and its results."""
  moving, kept = (
      [i for i, x in enumerate(arrays) if is_differentiable(x.dtype)]
      for arrays in (operands, results)
  )
  if not moving or not kept:
    raise errors.Unsupported("there is no derivative: say backward = False")

  def pull_back(*arrays):
    primals, cotangents = list(arrays[: len(operands)]), arrays[len(operands) :]

    def visible(*chosen):
      for i, x in zip(moving, chosen):
        primals[i] = x
      found = recomputing(forward)(*primals)
      return [found[i] for i in kept]

    own = [primals[i] for i in moving]
    return jax.vjp(visible, *own)[1](list(cotangents))

  def derivative(x):
    return dataclasses.replace(x, name="d" + x.name, shared=False)

  cotangents = [derivative(results[i]) for i in kept]
  gradients = [derivative(operands[i]) for i in moving]
  return pull_back, [*operands, *cotangents], gradients


def _sizes(core: Core) -> Callable[[Array], jax.ShapeDtypeStruct]:
  """Returns what gives arrays their shapes; open sizes are jax.export's."""
  scope = export.SymbolicScope()

  def aval(array):
    unknown = [d for d in array.dims if not (d.isdigit() or d.isidentifier())]
    if unknown:
      raise errors.Unsupported(f"a core dimension {unknown[0]!r}")
    sizes = ",".join(
        d if d.isdigit() else str(core.get(d, cpp.variable(d)))
        for d in array.dims
    )
    shape = export.symbolic_shape(sizes, scope=scope)
    return jax.ShapeDtypeStruct(shape, array.dtype)

  return aval


def _traced(trace, *args):
  """Calls a function of jax that runs the code of an author."""
  try:
    return trace(*args)
  except Exception as error:  # pylint: disable=broad-except
    # The author's code may raise anything, and jax raises where it needs a
    # number that is not known.
    why = str(error).partition("\n")[0].rstrip(".")
    if why.startswith("Reverse-mode differentiation does not work for"):
      raise errors.Unsupported(
          "the loop has no derivative: give it one by jax.custom_jvp, or say"
          " backward = False where a BUILD file has the op",
          _jax.source_of_error(error),
      ) from error
    raise errors.Unsupported(
        f"jax cannot trace it: {type(error).__name__}: {why}",
        _jax.source_of_error(error),
    ) from error


def _simplified(function, aval, operands):
  """Returns the jaxpr of a function of arrays, as it is written."""
  closed = _traced(jax.make_jaxpr(function), *map(aval, operands))
  closed = definitions.in_place_of_ops(closed)
  jaxprs.check_effects(closed.jaxpr)
  closed = jaxprs.needed(closed)
  return hoisting.hoisted(complex_numbers.in_reals(closed))


def _written(name, aval, closed, operands, results):
  """Returns the text of a jaxpr, and what it does not read."""
  writer = Writer(name)
  body = Body(writer)

  def memory(kind, letters, i, x):
    buffer = values.Buffer(f"{letters}{i}", kind)
    shape, dtype = complex_numbers.stored(aval(x).shape, x.dtype)
    return values.Memory.of(buffer, shape, dtype, not x.shared)

  # A small operand is read once, not in each step of a loop.
  kinds = {False: values.Kind.OPERAND, True: values.Kind.COPY}
  inputs = [
      body.loaded(memory(kinds[x.in_lanes], "in", i, x))
      for i, x in enumerate(operands)
  ]
  to = [memory(values.Kind.RESULT, "out", *x) for x in enumerate(results)]
  outvars = closed.jaxpr.outvars
  own = {
      x: place
      for x, place in zip(outvars, to)
      if not isinstance(x, jex_core.Literal) and outvars.count(x) == 1
  }
  for place, value, x in zip(to, body.run(closed, inputs, own), results):
    if value.dtype != place.dtype:
      raise errors.Unsupported(f"a result of dtype {value.dtype}")
    if getattr(value, "buffer", None) != place.buffer:
      writer.comment(x.name)
      writer.store(place, value)
  uses = jaxprs.uses(closed.jaxpr)
  pairs = zip(operands, closed.jaxpr.invars, strict=True)
  return writer, frozenset(x.name for x, v in pairs if not uses[v])
