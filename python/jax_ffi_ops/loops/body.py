# SPDX-License-Identifier: Apache-2.0
"""Walks a jaxpr and writes the C++ of each equation.

What an equation of constants computes, JAX computes here. All others are
written by the rule of their primitive, found in `rules`.
"""

import collections
from collections.abc import Mapping, Sequence
import dataclasses
import functools
import types
from typing import Any, NamedTuple

import jax
from jax.extend import core as jex_core
import numpy as np

from jax_ffi_ops.kit import _jax
from jax_ffi_ops.loops import changes
from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import jaxprs
from jax_ffi_ops.loops import rules
from jax_ffi_ops.loops import values
from jax_ffi_ops.loops.writer import Writer


@dataclasses.dataclass
class _Frame:
  """A jaxpr that is being walked.

  Attributes:
    equations: all of them.
    known: the values of its variables so far.
    uses: how often each will still be read.
    pinned: buffers that must keep their contents.
  """

  equations: Sequence[jex_core.JaxprEqn]
  known: dict[Any, values.Value]
  uses: collections.Counter
  pinned: frozenset[values.Buffer]


class Body:
  """What the rules write with.

  Attributes:
    writer: takes the lines.
    mask: the lanes that are at work, as a C++ expression; None if all are.
  """

  def __init__(self, writer: Writer):
    self.writer = writer
    self.mask: cpp.Code | None = None
    self._frames: list[_Frame] = []
    self._where = "jax"
    self._retraces = False

  def run(
      self,
      closed: jex_core.ClosedJaxpr,
      args: Sequence[values.Value],
      destinations: Mapping[Any, values.Memory] = types.MappingProxyType({}),
      pinned: frozenset[values.Buffer] = frozenset(),
      mask: cpp.Code | None = None,
  ) -> list[values.Value]:
    """Writes a jaxpr and returns its results, as arrays.

    Args:
      closed: the jaxpr.
      args: its operands.
      destinations: where some results have to be in the end. A rule may write
        them there at once.
      pinned: buffers that must not change.
      mask: the lanes that are at work there, if not all of those before.
    """
    outer, self.mask = self.mask, mask or self.mask
    found = self._run(closed, args, destinations, pinned)
    found = list(map(self.as_array, found))
    self.mask = outer
    return found

  def _run(self, closed, args, destinations, pinned=frozenset()):
    jaxpr = jaxprs.without_repetitions(closed.jaxpr)
    jaxpr = changes.reads_first(jaxpr)
    known = dict(zip(jaxpr.invars, args, strict=True))
    known |= zip(
        jaxpr.constvars, map(values.Constant.of, closed.consts), strict=True
    )
    uses = jaxprs.uses(jaxpr)
    self._frames.append(_Frame(jaxpr.eqns, known, uses, pinned))
    for equation in jaxpr.eqns:
      if not any(uses[x] for x in equation.outvars):
        continue
      operands = [self._read(known, x) for x in equation.invars]
      for x in equation.invars:
        if not isinstance(x, jex_core.Literal):
          uses[x] -= 1
      if equation.outvars[0] in known:
        continue  # Another equation has computed it.
      results = self._results(equation, operands, uses, destinations)
      known |= zip(equation.outvars, results, strict=True)
    self._frames.pop()
    return [self._read(known, x) for x in jaxpr.outvars]

  def _read(self, known, x):
    if isinstance(x, jex_core.Literal):
      return values.Constant.of(np.asarray(x.val, x.aval.dtype))
    return known[x]

  def _results(self, equation, operands, uses, destinations):
    outer = self._where
    own = None if self._retraces else _jax.source_line(equation)
    self._where = where = own or outer
    name, outvars = equation.primitive.name, equation.outvars
    rule = rules.find(name)
    try:
      if rule.folds:
        folded = jaxprs.folded(equation, operands)
        if folded is not None:
          return folded
        self.writer.comment(f"{name}, {where}")
      if not rule.of_keys and any(
          jaxprs.is_key(x.aval) for x in equation.invars
      ):
        return self._of_words(equation, operands)
      if not rule.of_patches:
        operands = [
            self._as_known_array(x, value)
            for x, value in zip(equation.invars, operands)
        ]
      shape, dtype = jaxprs.physical(outvars[0].aval)
      counts = tuple(uses[x] for x in outvars)
      to = [destinations.get(x) if uses[x] == 1 else None for x in outvars]
      own = Equation(equation, name, equation.params, shape, dtype, counts, to)
      found = rule.write(self, own, *operands)
    except errors.Unsupported as error:
      if error.where:
        raise
      raise errors.Unsupported(error.what, f"{where}, {name}") from error
    finally:
      self._where = outer
    return found if isinstance(found, list) else [found]

  def twin(self, equation: "Equation", name: str) -> Any:
    """Returns the result of another function of the same operand, or None."""
    frame = self._frames[-1]
    for other in frame.equations:
      if other.primitive.name == name and other.invars == equation.of.invars:
        return other.outvars[0] if frame.uses[other.outvars[0]] else None
    return None

  def know(self, variable: Any, value: values.Value) -> None:
    self._frames[-1].known[variable] = value

  def retrace(
      self, function: Any, *args: values.Value, to=()
  ) -> list[values.Value]:
    """Writes a function of jax.numpy in place of an equation."""
    outer, self._retraces = self._retraces, True
    found = self.call(self.traced(function, *args), args, to)
    self._retraces = outer
    return found

  def call(self, closed, args, to=()) -> list[values.Value]:
    """Writes a jaxpr, some of whose results have to be in memory."""
    pairs = zip(closed.jaxpr.outvars, to)
    return self._run(closed, args, {x: own for x, own in pairs if own})

  def _of_words(self, equation, operands):
    """Does to each word of keys what an equation does to keys."""
    axes = tuple(-1 if jaxprs.is_key(x.aval) else None for x in equation.invars)
    own = functools.partial(equation.primitive.bind, **equation.params)
    return self.retrace(jax.vmap(own, axes, -1), *operands)

  def traced(self, function: Any, *args: values.Value) -> jex_core.ClosedJaxpr:
    avals = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in args]
    return jax.make_jaxpr(function)(*avals)

  def is_free(self, buffer: values.Buffer) -> bool:
    """Returns whether a buffer may change: nothing reads it later."""
    if buffer.kind != values.Kind.OWN:
      return False
    read = [frame.pinned for frame in self._frames]
    for frame in self._frames:
      read += [v.reads for x, v in frame.known.items() if frame.uses[x] > 0]
    return not any(buffer in own for own in read)

  def may_change(self, x: values.Value, lanes: bool) -> bool:
    """Returns whether x is memory, with or without lanes, that nobody reads."""
    is_whole = isinstance(x, values.Memory) and x.is_whole
    return is_whole and x.lanes == lanes and self.is_free(x.buffer)

  def changing(self, x: values.Value, lanes: bool) -> values.Memory:
    """Returns memory with x that may change: its own if nobody reads it."""
    return x if self.may_change(x, lanes) else self.writer.copied(x, lanes)

  def settled(self, value: values.Value) -> values.Value:
    """Returns a value that can be read at any later time."""
    if isinstance(value, values.Lazy):
      return self.writer.in_memory(value)
    return self.as_array(value)

  def _as_known_array(self, variable, value):
    """Returns a value as an array, which later equations read, too."""
    array = self.as_array(value)
    if array is not value:
      self.know(variable, array)
    return array

  def as_array(self, value: values.Value) -> values.Value:
    """Returns a value whose elements can be read."""
    if isinstance(value, values.Patch):
      return self.writer.in_memory(value)
    return value

  def loaded(self, value: values.Value) -> values.Value:
    """Returns a value as scalars if it is small, so that it is read once."""
    if values.is_small(value.shape) and not isinstance(value, values.Constant):
      names = self.writer.names_of(value)
      return values.Scalars.of(names, value.dtype, value.lanes)
    return value


class Equation(NamedTuple):
  """An equation for a rule.

  Attributes:
    of: that of the jaxpr.
    name: of its primitive.
    params: its parameters.
    shape: of the first result.
    dtype: of the first result.
    uses: how often each result is read.
    destinations: where each result has to be, if it is known.
  """

  of: jex_core.JaxprEqn
  name: str
  params: Mapping[str, Any]
  shape: tuple[Any, ...]
  dtype: np.dtype
  uses: tuple[int, ...]
  destinations: Sequence[values.Memory | None]
