# SPDX-License-Identifier: Apache-2.0
"""Makes pairs of real arrays of the complex arrays of a jaxpr.

So no rule of a primitive has to know complex numbers. Operands and results are
as XLA has them: the parts of a number are neighbors, in a last dimension of 2.
"""

from collections.abc import Sequence
import functools
from typing import Any

import jax
from jax.extend import core as jex_core
import numpy as np

from jax_ffi_ops.kit import _jax
from jax_ffi_ops.loops import complex_formulas
from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import jaxprs
from jax_ffi_ops.loops import rewriting
from jax_ffi_ops.loops import rules
from jax_ffi_ops.loops.complex_formulas import Pair
from jax_ffi_ops.loops.families import control


def stored(shape: Sequence[Any], dtype: Any) -> tuple[tuple[Any, ...], Any]:
  """Returns the shape and the dtype of the real numbers that XLA has."""
  parts = [2] if cpp.is_complex(dtype) else []
  return (*shape, *parts), cpp.real(dtype)


def in_reals(closed: jex_core.ClosedJaxpr) -> jex_core.ClosedJaxpr:
  """Returns a jaxpr without complex numbers, of arrays as XLA stores them."""
  if not _has_complex(closed.jaxpr):
    return closed
  pairs = _Pairs()
  invars = list(map(pairs.operand, closed.jaxpr.invars))
  pairs.walk(closed)
  outvars = list(map(pairs.result, closed.jaxpr.outvars))
  return pairs.closed(closed, invars, outvars)


def _in_pairs(closed):
  """Returns a jaxpr that has, for each complex array, its two parts."""
  if not _has_complex(closed.jaxpr):
    return closed
  pairs = _Pairs()
  invars = [x for v in closed.jaxpr.invars for x in pairs.named(v)]
  pairs.walk(closed)
  outvars = [x for v in closed.jaxpr.outvars for x in pairs.atoms(v)]
  return pairs.closed(closed, invars, outvars)


def _has_complex(jaxpr) -> bool:
  atoms = [*jaxpr.constvars, *jaxpr.invars, *jaxpr.outvars]
  return any(map(_is_pair, atoms)) or any(map(_is_of_complex, jaxpr.eqns))


def _is_of_complex(equation) -> bool:
  """Returns whether an equation, or one inside of it, has complex numbers."""
  if any(map(_is_pair, [*equation.invars, *equation.outvars])):
    return True
  inner = jax.tree.leaves(list(equation.params.values()))
  inner = (getattr(x, "jaxpr", x) for x in inner)
  return any(_has_complex(x) for x in inner if hasattr(x, "eqns"))


def _is_pair(x) -> bool:
  return cpp.is_complex(x.aval.dtype)


class _Pairs:
  """The equations of a jaxpr, in which complex arrays are pairs.

  What stands for an array is a list: its parts, or itself.
  """

  def __init__(self):
    self._equations: list[jex_core.JaxprEqn] = []
    self._known: dict[Any, list[Any]] = {}
    self._constants: dict[Any, Any] = {}

  def closed(self, old, invars, outvars) -> jex_core.ClosedJaxpr:
    jaxpr = old.jaxpr.replace(
        constvars=list(self._constants),
        invars=invars,
        outvars=outvars,
        eqns=self._equations,
    )
    return jex_core.ClosedJaxpr(jaxpr, list(self._constants.values()))

  def operand(self, variable) -> Any:
    """Returns the operand that XLA has for a variable."""
    if not _is_pair(variable):
      return variable
    shape, dtype = stored(variable.aval.shape, variable.aval.dtype)
    own = jex_core.Var(variable.aval.update(shape=shape, dtype=dtype))
    self._known[variable] = self._traced(complex_formulas.parts_of, own)
    return own

  def result(self, x) -> Any:
    """Returns the result that XLA has for a variable."""
    atoms = self.atoms(x)
    if len(atoms) == 1:
      return atoms[0]
    return self._traced(complex_formulas.interleaved, *atoms)[0]

  def named(self, variable) -> list[Any]:
    """Returns what stands for a variable that is made in another way."""
    if _is_pair(variable):
      aval = variable.aval.update(dtype=cpp.real(variable.aval.dtype))
      self._known[variable] = [jex_core.Var(aval), jex_core.Var(aval)]
    return self.atoms(variable)

  def atoms(self, x) -> list[Any]:
    """Returns what stands for a variable or a number."""
    if not isinstance(x, jex_core.Literal):
      return self._known.get(x, [x])
    if not _is_pair(x):
      return [x]
    number = np.asarray(x.val, x.aval.dtype)
    aval = x.aval.update(dtype=number.real.dtype)
    return [jex_core.Literal(y[()], aval) for y in (number.real, number.imag)]

  def walk(self, closed: jex_core.ClosedJaxpr) -> None:
    """Adds the equations of a jaxpr, whose operands are known."""
    for variable, value in zip(closed.jaxpr.constvars, closed.consts):
      parts = [value]
      if _is_pair(variable):
        value = np.asarray(value)
        parts = [value.real, value.imag]
      self._constants |= zip(self.named(variable), parts, strict=True)
    for equation in closed.jaxpr.eqns:
      try:
        self._add(equation)
      except errors.Unsupported as error:
        line = _jax.source_line(equation)
        if error.where or line is None:  # What calls it may have one.
          raise
        raise errors.Unsupported(error.what, line) from error

  def _add(self, equation):
    own = list(map(self.atoms, equation.invars))
    invars = [x for atoms in own for x in atoms]
    if not _is_of_complex(equation):
      self._equations.append(equation.replace(invars=invars))
      return
    equation = _with_one_condition(equation)
    params = _inner_params(equation)
    if params is None:
      self._add_formula(equation, own)
      return
    outvars = [y for x in equation.outvars for y in self.named(x)]
    own = {"invars": invars, "outvars": outvars, "params": params}
    self._equations.append(equation.replace(**own))

  def _add_formula(self, equation, operands):
    formula = complex_formulas.find(equation.primitive.name)

    def of_parts(*parts):
      rest = iter(parts)
      args = [
          Pair(next(rest), next(rest)) if len(x) == 2 else next(rest)
          for x in operands
      ]
      return formula(equation, *args)

    parts = [x for atoms in operands for x in atoms]
    found = iter(self._traced(of_parts, *parts, of=equation))
    for x in equation.outvars:
      self._known[x] = [next(found) for _ in range(1 + _is_pair(x))]

  def _traced(self, function, *atoms, of=None) -> list[Any]:
    """Adds the equations of a function of arrays, and returns its results."""
    avals = [jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype) for x in atoms]
    closed = jax.make_jaxpr(function)(*avals)
    jaxpr = rewriting.without_calls(closed.jaxpr)
    self._constants |= zip(jaxpr.constvars, closed.consts, strict=True)
    known = dict(zip(jaxpr.invars, atoms, strict=True))
    known |= {x: x for x in jaxpr.constvars}
    eqns, names = rewriting.renamed(jaxpr.eqns, known)
    if of is not None:
      eqns = [x.replace(source_info=of.source_info) for x in eqns]
    self._equations += eqns
    return [
        x if isinstance(x, jex_core.Literal) else names[x]
        for x in jaxpr.outvars
    ]


def _with_one_condition(equation):
  """Returns the loop that a `while` under vmap, with many conditions, is."""
  params = equation.params
  if (
      equation.primitive.name != "while"
      or not params["cond_jaxpr"].out_avals[0].shape
  ):
    return equation
  function = jax.jit(functools.partial(control.while_of_some, params))
  avals = [
      jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype) for x in equation.invars
  ]
  (call,) = jax.make_jaxpr(function)(*avals).jaxpr.eqns
  return call.replace(invars=equation.invars, outvars=equation.outvars)


def _inner_params(equation) -> dict[str, Any] | None:
  """Returns the parameters of an equation that has others inside, if it is."""
  params, name = equation.params, equation.primitive.name
  match name:
    case "scan":
      return _params_of_scan(params)
    case "while":
      return _params_of_while(params)
    case "cond":
      return {**params, "branches": tuple(map(_in_pairs, params["branches"]))}
  inner = rules.callee(equation)
  if inner is None:
    return None
  return {**params, rules.CALLS[name]: _in_pairs(inner)}


def _params_of_scan(params):
  consts, carries = jaxprs.scan_counts(params)
  avals = params["jaxpr"].in_avals
  own = {
      "jaxpr": _in_pairs(params["jaxpr"]),
      "num_consts": _count(avals[:consts]),
      "num_carry": _count(avals[consts : consts + carries]),
  }
  return {k: x for k, x in params.items() if k != "ft_in"} | own


def _params_of_while(params):
  test, step = params["cond_jaxpr"], params["body_jaxpr"]
  return {
      **params,
      "cond_jaxpr": _in_pairs(test),
      "body_jaxpr": _in_pairs(step),
      "cond_nconsts": _count(test.in_avals[: params["cond_nconsts"]]),
      "body_nconsts": _count(step.in_avals[: params["body_nconsts"]]),
  }


def _count(avals) -> int:
  """Returns how many real arrays stand for arrays."""
  return sum(1 + cpp.is_complex(x.dtype) for x in avals)
