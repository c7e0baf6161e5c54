# SPDX-License-Identifier: Apache-2.0
"""Finds what is wrong with a declaration where it is made.

Its functions are traced once, with example sizes, dtypes and attributes. This
starts no backend of jax.
"""

from collections.abc import Iterable
from typing import Any

import jax
from jax.extend import core as jex_core
import numpy as np

from jax_ffi_ops.kit import dtypes
from jax_ffi_ops.kit.declare import author_functions
from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.declare.value import Value


def check(op: Declaration) -> None:
  """Raises ValueError or TypeError if a declaration contradicts itself."""
  _check_sizes(op)
  _check_needed_by(op)
  _check_in_place(op)
  _check_row_sums(op)
  _check_column_major(op)
  _check_most_loops(op)
  _check_transpose(op)
  _check_functions(op)
  _Example(op).check()


def _check_sizes(op: Declaration) -> None:
  """Raises ValueError if `Results.sizes` names other dimensions."""
  dimensions = op.signature.result_names
  others = sorted(op.results.sizes.keys() - dimensions)
  if others:
    raise ValueError(
        f"{op.name}: `Results.sizes` has {others}, but the dimensions that"
        f" results alone have in {op.signature} are {sorted(dimensions)}."
    )


def _check_needed_by(op: Declaration) -> None:
  """Raises ValueError if `needed_by` has no residuals, or is not used."""
  rules = op.derivatives
  used = rules.skips_gradients and not (rules.backward or rules.jvp)
  others = {*rules.needed_by}.difference(rules.residuals)
  if others or (rules.needed_by and not used):
    raise ValueError(
        f"{op.name}: `needed_by` is about residuals, with `skips_gradients` and"
        f" without `jvp` and `backward`, got {rules.needed_by}."
    )


def _check_in_place(op: Declaration) -> None:
  """Raises ValueError unless `in_place` is from results to an operand each."""
  in_place = op.buffers.in_place
  repeated = len({*in_place.values()}) != len(in_place)
  if repeated or not {*in_place}.issubset(op.result_names):
    raise ValueError(
        f"{op.name}: `in_place` is from results ({sorted(op.result_names)}) to"
        f" an operand each, got {in_place}."
    )


def _check_row_sums(op: Declaration) -> None:
  """Raises ValueError if handlers sum over rows, and no operand is shared."""
  if op.buffers.broadcast_operands and op.row_sums:
    raise ValueError(
        f"{op.name}: handlers with `broadcast_operands` sum over no rows, but"
        f" `row_sums` are {list(op.row_sums)}."
    )


def _check_column_major(op: Declaration) -> None:
  """Raises ValueError if `column_major` names what cannot be so."""
  column_major = op.buffers.column_major
  for name in sorted(column_major):
    if len(op.axes.get(name, ((), False))[0]) < 2:
      names = [
          n for n in (*op.slots, *op.result_names) if len(op.axes[n][0]) > 1
      ]
      raise ValueError(
          f"{op.name}: `column_major` is about operands and results whose cores"
          f" have several axes ({names}), got {name!r}."
      )
  if column_major and (op.signature.starred or op.cores is not None):
    raise ValueError(
        f"{op.name}: `column_major` is for handlers of your own, and for"
        " signatures without '*'. kit.call takes any layout."
    )
  for pair in op.buffers.in_place.items():
    if len(column_major.intersection(pair)) == 1:
      raise ValueError(
          f"{op.name}: `in_place` is between arrays of one order, but of"
          f" {pair} one is column-major."
      )


def _check_most_loops(op: Declaration) -> None:
  """Raises ValueError unless `most_loops` is a number of dimensions."""
  most = op.buffers.most_loops
  if most is not None and (not isinstance(most, int) or most < 0):
    raise ValueError(
        f"{op.name}: `most_loops` is an integer of at least 0, got {most!r}."
    )


def _check_transpose(op: Declaration) -> None:
  """Raises ValueError if `transpose` takes all, or is not the only rule."""
  rules = op.derivatives
  others = rules.jvp or rules.backward or rules.residuals
  others = others or op.backward_platforms
  if rules.transpose and op.is_linear and others:
    raise ValueError(
        f"{op.name}: with `Derivatives.transpose` of all operands, there are no"
        " residuals, no other rule, and no backward handler."
    )
  if rules.transpose and not op.linear:
    raise ValueError(
        f"{op.name}: the op is linear in the operands that"
        " `Derivatives.transpose` does not take, but it takes all of them."
    )


def _check_functions(op: Declaration) -> None:
  """Raises an error unless the kit can call the functions of an author."""
  attributes = tuple(op.attributes)
  rules = op.derivatives
  for kind, rule in (
      ("reference", op.reference),
      ("jvp", rules.jvp),
      ("transpose", rules.transpose),
      ("backward", rules.backward),
  ):
    if rule is not None:
      author_functions.check_call(
          op.name, kind, rule.function, rule.names, attributes
      )
  for kind, function, more in (
      ("results", op.results.dtypes, ()),
      ("use_handler", op.choice.use_handler, ("platform",)),
      ("is_faster", op.choice.is_faster, ("platform", "backward")),
  ):
    if function is not None:
      asked = author_functions.keywords(function)
      sizes = tuple(n for n in op.signature.names if n in asked)
      more = (*attributes, *more, *(sizes if kind != "results" else ()))
      author_functions.check_call(op.name, kind, function, op.slots, more)


class _Example:
  """One combination of dtypes, with all operands."""

  def __init__(self, op: Declaration):
    self._op = op
    self._attributes = Value(
        {
            name: attribute.example_value(op.name, name)
            for name, attribute in op.attributes.items()
        }
    )
    self._values = self._attributes.plain
    self._dtypes = dict(zip(op.operands, map(_example_dtype, op.dtypes)))
    # Powers of two suit many ops, and different ones tell dimensions apart.
    self._sizes = {name: 8 << i for i, name in enumerate(op.signature.names)}

  def check(self) -> None:
    op = self._op
    if not op.has_derivatives and op.results.dtypes is None:
      return
    # Without it there are no dtypes of 64 bits.
    wide = any(dtype.itemsize > 4 for dtype in self._dtypes.values())
    with jax.enable_x64(wide or jax.config.jax_enable_x64):
      try:
        self._trace()
      except (TypeError, ValueError) as error:
        sizes = ", ".join(f"{name} = {x}" for name, x in self._sizes.items())
        error.add_note(
            f"kit.op checks the declaration of {op.name}, {op.signature}, with"
            f" {sizes or 'scalars'}. Sizes that depend on each other can be"
            " declared: '(2h),(h)->(2h)'."
        )
        raise

  def _trace(self):
    op = self._op
    avals = {
        name: jax.ShapeDtypeStruct(self._core(name), dtype)
        for name, dtype in self._dtypes.items()
    }
    operands = [(x.shape, x.dtype) for x in avals.values()]
    found = op.result_dtypes(operands, self._attributes)
    results = {
        name: jax.ShapeDtypeStruct(self._core(name), dtype)
        for name, dtype in zip(op.result_names, found)
    }
    if op.reference is not None:
      got = op.reference_results(operands, self._attributes)
      got = [(x.shape, x.dtype) for x in got]
      self._compare("the reference", got, results.values(), avals)
    moving = [n for n, x in avals.items() if op.is_differentiable(x.dtype)]
    visible = {
        name: results[name]
        for name in op.outputs
        if op.is_differentiable(results[name].dtype)
    }
    kept = avals | results
    rules = op.derivatives
    if rules.jvp is not None:
      tangents = {name + "_dot": x for name, x in avals.items()}
      self._check("`jvp`", rules.jvp, kept | tangents, visible.values())
    cotangents = {"d" + name: x for name, x in visible.items()}
    linear = [x for x in moving if x in op.linear]
    for what, returned in (("transpose", linear), ("backward", moving)):
      rule = getattr(rules, what)
      if rule is not None:
        expected = [avals[name] for name in returned]
        self._check(f"`{what}`", rule, kept | cotangents, expected)
    if op.split is not None:
      self._check_split("split.", op.split, avals, results.values())
      if op.split.backward is not None:
        gradients = [avals[name] for name in moving]
        arrays = kept | cotangents
        self._check_split(
            "split.backward.", op.split.backward, arrays, gradients
        )

  def _check_split(self, what, split, arrays, expected):
    """Checks what devices that have all of a core compute."""
    with jax.enable_x64(True):
      try:
        state, identity, both, got = jax.eval_shape(
            lambda xs: split.traced(xs, self._values), arrays
        )
      except NameError:
        return  # As in _check.
    if len(identity) != len(state):
      raise TypeError(
          f"{self._op.name}: {what}identity returns {len(identity)} numbers for"
          f" a state of {len(state)} arrays."
      )
    types = [[(x.shape, x.dtype) for x in xs] for xs in (state, both)]
    if types[0] != types[1]:
      raise TypeError(
          f"{self._op.name}: {what}combine returns {dtypes.describe(types[1])},"
          f" but a state is {dtypes.describe(types[0])}."
      )
    got = [(x.shape, x.dtype) for x in got]
    self._compare(f"`{what}apply`", got, expected, arrays)

  def _core(self, name):
    return self._op.core(name, self._sizes, self._attributes)

  def _check(self, what, rule, arrays, expected: Iterable[Any]):
    """Checks a rule, which may return any floating-point dtype."""
    op = self._op
    arrays = {name: arrays[name] for name in rule.names if name in arrays}
    try:
      jaxpr = jax.make_jaxpr(lambda xs: rule(xs, self._values))(arrays)
    except NameError:
      return  # It may be in terms of this very op, which has no name yet.
    got = [(x.shape, x.dtype) for x in jaxpr.out_avals]
    self._compare(what, got, expected, arrays)
    if op.keeps_operands and op.reference:
      return
    used = _used(jaxpr.jaxpr)
    names = sorted(arrays)  # As jax orders them.
    for name, variable in zip(names, jaxpr.jaxpr.invars, strict=True):
      if name in op.hidden and variable in used:
        raise ValueError(
            f"{op.name}: {what} uses {name}, which callers do not see, and does"
            " not take all operands: second derivatives would miss its tangent."
            " Compute it again from what is kept."
        )

  def _compare(self, what, got, expected, arrays):
    """Compares shapes, and of the reference also dtypes."""
    wanted = [(x.shape, x.dtype) for x in expected]
    compared = 2 if what == "the reference" else 1
    if [x[:compared] for x in got] != [x[:compared] for x in wanted]:
      of = dtypes.describe((x.shape, x.dtype) for x in arrays.values())
      raise TypeError(
          f"{self._op.name}: {what} returns {dtypes.describe(got)}, but"
          f" declared is {dtypes.describe(wanted)}, of {of}."
      )


def _used(jaxpr):
  """Returns the variables of a jaxpr that its results depend on."""
  used = set(_variables(jaxpr.outvars))
  for equation in reversed(jaxpr.eqns):
    if used.intersection(equation.outvars):
      used.update(_variables(equation.invars))
  return used


def _variables(atoms):
  return [x for x in atoms if not isinstance(x, jex_core.Literal)]


def _example_dtype(allowed):
  wanted = np.dtype(np.float32)
  if allowed is None or wanted in allowed:
    return wanted
  return min(allowed, key=lambda dtype: dtype.name)
