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
from typing import Any

import jax
from jax.extend import core as jex_core
import numpy as np

from jax_ffi_ops.kit import _jax
from jax_ffi_ops.kit.emit import errors
from jax_ffi_ops.kit.emit import rules
from jax_ffi_ops.kit.emit import values
from jax_ffi_ops.kit.emit.values import Constant
from jax_ffi_ops.kit.emit.values import Memory
from jax_ffi_ops.kit.emit.values import Value
from jax_ffi_ops.kit.emit.writer import Writer

# Larger results of constants are computed by the handler, not by the build.
_MOST_FOLDED = 1 << 16
# Their own equations say more of what is written than they do.
_LOOPS = {"scan", "while", "cond"}


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
  known: dict[Any, Value]
  uses: collections.Counter
  pinned: frozenset[str]


class Body:
  """What the rules write with.

  Attributes:
    writer: takes the lines.
    mask: the lanes that are at work, as a C++ expression; None if all are.
  """

  def __init__(self, writer: Writer):
    self.writer = writer
    self.mask: str | None = None
    self._frames: list[_Frame] = []
    self._where = "jax"
    self._retraces = False

  def run(
      self,
      closed: jex_core.ClosedJaxpr,
      args: Sequence[Value],
      destinations: Mapping[Any, Memory] = types.MappingProxyType({}),
      pinned: frozenset[str] = frozenset(),
  ) -> list[Value]:
    """Writes a jaxpr and returns its results.

    Args:
      closed: the jaxpr.
      args: its operands.
      destinations: where some results have to be in the end. A rule may write
        them there at once.
      pinned: buffers that must not change.
    """
    jaxpr = _without_repetitions(closed.jaxpr)
    known = dict(zip(jaxpr.invars, args, strict=True))
    known |= zip(jaxpr.constvars, map(Constant.of, closed.consts), strict=True)
    uses = _uses(jaxpr)
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
      return Constant.of(np.asarray(x.val, x.aval.dtype))
    return known[x]

  def _results(self, equation, operands, uses, destinations):
    outer = self._where
    own = None if self._retraces else _jax.source_line(equation)
    self._where = where = own or outer
    name = equation.primitive.name
    inner = rules.callee(equation)
    try:
      if inner is not None:
        to = {
            own: destinations[x]
            for own, x in zip(inner.jaxpr.outvars, equation.outvars)
            if x in destinations and uses[x] == 1
        }
        return self.run(inner, operands, to)
      rule = rules.find(name)
      if rule.folds and all(isinstance(x, Constant) for x in operands):
        folded = _fold(equation, operands)
        if folded is not None:
          return folded
      if name not in _LOOPS:
        self.writer.comment(f"{name}, {where}")
      if not rule.of_keys and any(is_key(x.aval) for x in equation.invars):
        return self._of_words(equation, operands)
      own = Equation(
          equation,
          tuple(uses[x] for x in equation.outvars),
          tuple(
              destinations.get(x) if uses[x] == 1 else None
              for x in equation.outvars
          ),
      )
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
      if other.primitive.name == name:
        if other.invars[0] is equation.of.invars[0]:
          (found,) = other.outvars
          return found if frame.uses[found] else None
    return None

  def know(self, variable: Any, value: Value) -> None:
    self._frames[-1].known[variable] = value

  def retrace(self, function: Any, *args: Value, to=()) -> list[Value]:
    """Writes a function of jax.numpy in place of an equation."""
    closed = self.traced(function, *args)
    pairs = zip(closed.jaxpr.outvars, to)
    outer, self._retraces = self._retraces, True
    found = self.run(closed, args, {x: own for x, own in pairs if own})
    self._retraces = outer
    return found

  def _of_words(self, equation, operands):
    """Does to each word of keys what an equation does to keys."""
    axes = tuple(-1 if is_key(x.aval) else None for x in equation.invars)
    own = functools.partial(equation.primitive.bind, **equation.params)
    return self.retrace(jax.vmap(own, axes, -1), *operands)

  def traced(self, function: Any, *args: Value) -> jex_core.ClosedJaxpr:
    avals = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in args]
    return jax.make_jaxpr(function)(*avals)

  def is_free(self, buffer: str) -> bool:
    """Returns whether a buffer may change: nothing reads it later."""
    if buffer[0] != "a":  # An operand or a table.
      return False
    for frame in self._frames:
      if buffer in frame.pinned:
        return False
      for x, value in frame.known.items():
        if frame.uses[x] > 0 and buffer in value.reads:
          return False
    return True

  def changing(self, x: Value, lanes: bool) -> Memory:
    """Returns memory with x that may change: its own if nobody reads it."""
    if (
        isinstance(x, Memory)
        and x.is_whole
        and x.lanes == lanes
        and self.is_free(x.buffer)
    ):
      return x
    return self.writer.copied(x, lanes)

  def settled(self, value: Value) -> Value:
    """Returns a value that can be read at any later time."""
    if isinstance(value, values.Lazy):
      return self.writer.in_memory(value)
    return value

  def loaded(self, value: Value) -> Value:
    """Returns a value as scalars if it is small, so that it is read once."""
    if values.is_small(value.shape) and not isinstance(value, Constant):
      names = self.writer.names_of(value)
      return values.Scalars(value.shape, value.dtype, value.lanes, names)
    return value


@dataclasses.dataclass(frozen=True)
class Equation:
  """An equation for a rule.

  Attributes:
    of: that of the jaxpr.
    uses: how often each result is read.
    destinations: where each result has to be, if it is known.
  """

  of: jex_core.JaxprEqn
  uses: tuple[int, ...]
  destinations: tuple[Memory | None, ...]

  @property
  def name(self) -> str:
    return self.of.primitive.name

  @property
  def params(self) -> Mapping[str, Any]:
    return self.of.params

  @property
  def shape(self) -> tuple[Any, ...]:
    """Of the first result."""
    return physical(self.of.outvars[0].aval)[0]

  @property
  def dtype(self) -> np.dtype:
    return physical(self.of.outvars[0].aval)[1]


def is_key(aval: Any) -> bool:
  return jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key)


def physical(aval: Any) -> tuple[tuple[Any, ...], np.dtype]:
  """Returns the shape and dtype of an array, or of the words of keys."""
  if not is_key(aval):
    return aval.shape, aval.dtype
  key = jax.ShapeDtypeStruct((), aval.dtype)
  words = jax.eval_shape(jax.random.key_data, key)
  return (*aval.shape, *words.shape), words.dtype


def _without_repetitions(jaxpr):
  """Returns a jaxpr that computes nothing twice, as far as can be seen.

  g++ would see that a difference is computed twice, but not a sine.
  """
  same, known, equations = {}, {}, []

  def first(x):
    return x if isinstance(x, jex_core.Literal) else same.get(x, x)

  def key(x):
    return (repr(x.val), x.aval) if isinstance(x, jex_core.Literal) else x

  for equation in jaxpr.eqns:
    equation = equation.replace(invars=list(map(first, equation.invars)))
    own = (
        equation.primitive,
        *map(key, equation.invars),
        *equation.params.items(),
    )
    try:
      before = known.setdefault(own, equation)
    except TypeError:  # Parameters that cannot be compared.
      before = equation
    if before is equation:
      equations.append(equation)
    else:
      same |= zip(equation.outvars, before.outvars)
  return jaxpr.replace(eqns=equations, outvars=list(map(first, jaxpr.outvars)))


def _uses(jaxpr):
  """Returns how often each variable is read by equations that are needed."""
  uses = collections.Counter()

  def count(variables):
    uses.update(x for x in variables if not isinstance(x, jex_core.Literal))

  count(jaxpr.outvars)
  for equation in reversed(jaxpr.eqns):
    if any(uses[x] for x in equation.outvars):
      count(equation.invars)
  return uses


def _fold(equation, operands):
  """Returns what JAX computes of constants, or None if that is large."""
  if any(is_key(x.aval) for x in equation.invars):
    return None  # The constants are their words.
  sizes = [x.aval.size for x in equation.outvars]
  if not all(isinstance(n, int) and n <= _MOST_FOLDED for n in sizes):
    return None
  with jax.ensure_compile_time_eval():
    found = equation.primitive.bind(
        *(jax.numpy.asarray(x.array) for x in operands), **equation.params
    )
  found = found if equation.primitive.multiple_results else [found]
  found = [jax.random.key_data(x) if is_key(x) else x for x in found]
  return [Constant.of(x) for x in found]
