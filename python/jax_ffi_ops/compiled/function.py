# SPDX-License-Identifier: Apache-2.0
"""What `jax_ffi_ops.compile` returns."""

from collections.abc import Callable, Sequence
import functools
import numbers
import sys
import threading
import types
from typing import Any, NamedTuple

import jax
from jax.extend import core as jex_core

from jax_ffi_ops.compiled import answers
from jax_ffi_ops.compiled import measuring
from jax_ffi_ops.compiled import parts
from jax_ffi_ops.compiled import program
from jax_ffi_ops.compiled import sizes
from jax_ffi_ops.compiled import speed
from jax_ffi_ops.compiled.ops import op_of
from jax_ffi_ops.compiled.ops import open_op_of
from jax_ffi_ops.compiled.ops import Options
from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.equations import equations
from jax_ffi_ops.kit.explaining import explain
from jax_ffi_ops.kit.function import Op
from jax_ffi_ops.kit.load.cores import NotCompiledWarning
from jax_ffi_ops.kit.warning import warn

_MANY = 32  # Programs seldom have so many kinds of arguments on purpose.


class _Alike(NamedTuple):
  """Calls whose arguments differ in their shapes alone.

  Attributes:
    first: the shapes of the first one.
    patterns: of open sizes, and their ops; None if there cannot be one.
  """

  first: tuple[sizes.Shape, ...]
  patterns: dict[sizes.Pattern, Op | None]


def _name_of(function):
  """Returns the name of a function, which a partial or an object lacks."""
  while isinstance(function, functools.partial):
    function = function.func
  return getattr(function, "__name__", type(function).__name__)


class Compiled:
  """A function whose loops are C++; call it as the function itself."""

  def __init__(
      self,
      function: Callable[..., Any],
      static_argnames: str | Sequence[str],
      options: Options,
  ):
    functools.update_wrapper(self, function)
    self.__name__ = _name_of(function)
    self._function = function
    self._static_argnames = static_argnames
    self._options = options
    self._ops: dict[Any, Op] = {}
    self._alike: dict[Any, _Alike] = {}
    self._adding = threading.Lock()

    @functools.wraps(function)
    def call(*args, **kwargs):
      return self._call(*args, **kwargs)

    # It flattens arguments, checks them, and calls this once for each of their
    # types.
    self._jitted = jax.jit(call, static_argnames=static_argnames)

  def __call__(self, *args: Any, **kwargs: Any) -> Any:
    if program.is_of_another():  # It is compiled together with that.
      return self._function(*args, **kwargs)
    return self._jitted(*args, **kwargs)

  def __get__(self, instance: Any, owner: type | None = None) -> Any:
    """Returns the method of an object, whose first argument is the object."""
    return self if instance is None else types.MethodType(self, instance)

  def __repr__(self) -> str:
    types_ = "; ".join(map(_types, self.ops))
    return f"<compiled {self.__name__}{types_ and f' of {types_}'}>"

  def trace(self, *args: Any, **kwargs: Any) -> jax.stages.Traced:
    """Traces a call, as the method of what jax.jit returns."""
    return self._jitted.trace(*args, **kwargs)

  def lower(self, *args: Any, **kwargs: Any) -> jax.stages.Lowered:
    """Lowers a call, as the method of what jax.jit returns."""
    return self._jitted.lower(*args, **kwargs)

  @property
  def ops(self) -> tuple[Op, ...]:
    """What it is made of so far: an op for each of its arguments' types."""
    return tuple(self._ops.values())

  @property
  def libraries(self) -> tuple[str, ...]:
    """The shared objects that were compiled so far."""
    objects = (op.declaration.library.objects for op in self.ops)
    return tuple(path for x in objects for path in x.values())

  def text(self, *args: Any, **kwargs: Any) -> str:
    """Returns the C++ of a call, and of its gradient if there is one.

    Raises:
      ValueError: nothing of the call is compiled.
    """
    texts = (x.library.text() for x in self._ops_of(*args, **kwargs))
    if text := "\n".join(texts):
      return text
    why = explain(self, *args, **kwargs)
    raise ValueError(f"Nothing of {self.__name__} is compiled:\n{why}")

  def benchmark(
      self,
      *args: Any,
      rows: Sequence[int] = (1, 8, 64),
      save: bool = False,
      **static: Any,
  ) -> dict[tuple[str, int], tuple[float, float]]:
    """Times jax and what is compiled, and prints both.

    If nothing is compiled, it prints why.

    Args:
      *args: those of a call, one row.
      rows: for so many rows, each of arrays of its own.
      save: whether this process, and later ones, choose by what came out.
      **static: static arguments of the call.

    Returns:
      Milliseconds of jax and of the handler: {("forward", 1): (2.1, 0.3)}.
    """
    if not isinstance(rows, Sequence) or not all(
        isinstance(n, int) and n > 0 for n in rows
    ):
      raise TypeError(
          f"rows must be numbers of rows, such as (1, 8); got {rows!r}."
      )
    found, ops = {}, self._ops_of(*args, **static)
    if ops:
      found = measuring.table(functools.partial(self, **static), args, rows)
    if not found:
      print("Nothing is compiled:", explain(self, *args, **static), sep="\n")
      return {}
    print(f"{'pass':10}{'rows':>6}{'jax, ms':>12}{'compiled':>12}")
    for (name, n), (before, after) in found.items():
      ratio = f"{before / after:.2f}×"
      print(f"{name:10}{n:6}{before:12.4f}{after:12.4f}{ratio:>9}")
    if save:
      least_rows = measuring.least_rows(found)
      for op in ops:
        answers.save(op.name, least_rows)
        op.library.least_rows = least_rows
      self._jitted.clear_cache()
    return found

  def _ops_of(self, *args, **kwargs):
    """Returns the ops of a call."""
    jaxpr = self.trace(*args, **kwargs).jaxpr.jaxpr
    calls = (x.params.get("call") for x in equations(jaxpr))
    return dict.fromkeys(x.op for x in calls if isinstance(x, ForwardCall))

  def __reduce__(self):
    module = getattr(sys.modules.get(self.__module__), "__dict__", {})
    # A pickle finds a decorated function where it is.
    names = (name for name, value in module.items() if value is self)
    parts = self._function, self._static_argnames, self._options
    return next(names, None) or (Compiled, parts)

  def _call(self, *args, **kwargs):
    if jax.config.jax_disable_jit:
      return self._function(*args, **kwargs)
    leaves, tree = jax.tree.flatten((args, kwargs))
    if not any(isinstance(x, jax.core.Tracer) for x in leaves):
      return self._function(*args, **kwargs)
    calls = program.Calls(self._function, leaves, tree)
    traced = calls.traced()
    op = self._open_op(calls, traced)
    if op is None:
      if sizes.are_symbolic(calls.shapes):
        return self._of_any_size(calls.shapes)(*args, **kwargs)
      op = self._op(traced)
    function = functools.partial(_results, op)
    if not self._options.strict and (
        _refusal(op) or speed.has_large_work_outside(traced.jaxpr.jaxpr)
    ):
      loops, own = parts.with_ops(traced.jaxpr, self._called)
      if not loops:
        op.declaration.library.warn_if_refused(False)
        return self._function(*args, **kwargs)
      function = jex_core.jaxpr_as_fun(own)
    operands = [*traced.constants, *program.operands(leaves)]
    return traced.restored(function(*operands))

  def _of_any_size(self, shapes):
    """Returns the function itself, if it may run where no op has open sizes."""
    if self._options.strict:
      raise ValueError(
          f"{self.__name__} cannot be compiled for all sizes that the shapes"
          f" {shapes} stand for."
      )
    return self._function

  def _called(self, function, operands):
    """Calls the op of a part, if it can be compiled."""
    leaves, tree = jax.tree.flatten((tuple(operands), {}))
    traced = program.Calls(function, leaves, tree).traced()
    op = self._op(traced)
    if _refusal(op):
      op.declaration.library.warn_if_refused(False)
      return None
    operands = [*traced.constants, *program.operands(leaves)]
    return traced.restored(_results(op, *operands))

  def _op(self, traced):
    """Returns the op of a program, which has its sizes."""
    return self._added(
        op_of(self.__name__, traced.jaxpr, len(traced.constants), self._options)
    )

  def _added(self, made):
    with self._adding:
      # What is traced again is the same op, if it is the same program.
      op = self._ops.setdefault(made.declaration.name, made)
      count = len(self._ops)
    if op is made and count % _MANY == 0:
      before = list(self._ops.values())[-2]
      warn(
          f"{self.__name__} was compiled for {count} kinds of arguments, and"
          f" each takes a second. The last two: {_types(before)} and"
          f" {_types(op)}.",
          NotCompiledWarning,
      )
    return op

  def _open_op(self, calls, traced):
    """Returns an op that serves calls of other sizes, too, if one does."""
    if any(isinstance(x, jax.core.Tracer) for x in traced.constants):
      return None  # They are of this call alone.
    try:
      hash(calls.key)
    except TypeError:  # A static argument has leaves that are arrays.
      return None
    alike = self._alike.setdefault(calls.key, _Alike(calls.shapes, {}))
    for pattern, op in [*alike.patterns.items()]:  # Other threads add some.
      if sizes.fits(pattern, calls.shapes):
        return op
    pattern = sizes.opened(alike.first, calls.shapes)
    if pattern is None:
      return None
    op = open_op_of(self.__name__, calls, pattern, self._options)
    # What jax makes of some gradients depends on sizes: cummax's is one.
    has_gradient = any(x.declaration.library.has_gradient() for x in self.ops)
    if op and has_gradient and op.declaration.library.refusal(True):
      op = None
    if op:
      op = self._added(op)
    alike.patterns[pattern] = op
    return op


def _types(op):
  """Returns the types of an op's operands: "float32(4), int32()"."""
  declared = op.declaration
  return ", ".join(
      f"{next(iter(dtypes)).name}({','.join(core)})"
      for dtypes, core in zip(declared.dtypes, declared.signature.operands)
  )


def _refusal(op):
  return op.declaration.library.refusal(False)


def _results(op, *operands):
  found = op(*operands)
  return found if isinstance(found, tuple) else (found,)


def compile(  # pylint: disable=redefined-builtin
    function: Callable[..., Any] | None = None,
    *,
    static_argnames: str | Sequence[str] = (),
    least_rows: tuple[float, float] | None = None,
    is_faster: Callable[..., bool] | None = None,
    strict: bool = False,
) -> Any:
  """Compiles a function with loops: as jax.jit, but by a C++ compiler.

    @jax_ffi_ops.compile
    def filtered(parameters, observations):
      return jax.lax.scan(step, initial(parameters), observations)

  It is for functions that XLA runs step by step: `lax.scan`, `while_loop` and
  `fori_loop` over small states. One call is a row; with jax.vmap, rows are
  computed side by side in vectors, and by several threads. All transformations
  of jax work. The first call of each type of arguments takes a second or more;
  other processes find what it compiled in a cache (docs/compile.md).

  On other platforms, and where something cannot be compiled, jax runs the
  function itself. `kit.explain(f, *args)` tells which and why.

  Args:
    function: of pytrees of arrays. Without it, a decorator is returned.
    static_argnames: as in jax.jit.
    least_rows: from how many rows on the forward and the backward pass are
      compiled: (1, 8). By default, a rule decides.
    is_faster: function of shapes and dtypes, and of the keywords `platform`
      and `backward`, that returns whether what is compiled is faster; see
      kit.Choice. The shapes are those of all arrays in the arguments, with all
      rows; before them come large constants.
    strict: whether it is an error that jax would run the function itself on a
      CPU.
  """
  match least_rows:
    case None | (numbers.Real(), numbers.Real()):
      pass
    case _:
      raise TypeError(
          "least_rows must be two numbers, of the forward and the backward"
          f" pass, such as (1, 8); got {least_rows!r}."
      )
  for name, value in {"function": function, "is_faster": is_faster}.items():
    if value is not None and not callable(value):
      raise TypeError(f"{name} must be a function, got {value!r}.")
  if function is None:
    return functools.partial(
        compile,
        static_argnames=static_argnames,
        least_rows=least_rows,
        is_faster=is_faster,
        strict=strict,
    )
  options = Options(least_rows, is_faster, strict)
  return Compiled(function, static_argnames, options)
