# SPDX-License-Identifier: Apache-2.0
"""What direct calls of an op's targets return by its definition."""

from collections.abc import Callable, Mapping
import functools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.calls.dimensions import Parts
from jax_ffi_ops.kit.declare.author_functions import positional
from jax_ffi_ops.kit.dtypes import accumulator
from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.cases.oracle import as_tuple
from jax_ffi_ops.kit.testing.direct.contract import Target
from jax_ffi_ops.kit.testing.direct.frames import Frame
from jax_ffi_ops.kit.testing.direct.rows import Rows
from jax_ffi_ops.kit.testing.exactness import checks
from jax_ffi_ops.kit.testing.exactness.bounded import Bounded
from jax_ffi_ops.kit.testing.exactness.interval import Interval
from jax_ffi_ops.kit.testing.exactness.rounding import row_additions

Arrays = Mapping[str, np.ndarray]


class Definition:
  """The results of a case's targets, by its definitions or its reference."""

  def __init__(self, case: Any):
    self.case = case
    self._attributes = case.call.attributes.plain

  def author(self, target: Target) -> Callable[..., Any] | None:
    """Returns the author's definition in NumPy of a target, if there is one."""
    case = self.case
    return case.gradient if target.is_backward else case.definition

  def is_free(self, target: Target, name: str) -> bool:
    """Returns whether an operand may have loops that others lack.

    Residuals have the operands' loops, unless the case has `gradient`.
    """
    residuals = set(target.call.op.result_names)
    return self.case.gradient is not None or name not in residuals

  def results(self, target: Target, frame: Frame, arrays: Arrays) -> list[Any]:
    """Returns, for each result of a call, what says whether it is right."""
    rows = Rows(target, frame)
    own = {name: rows.of(name, x) for name, x in arrays.items()}
    author = self.author(target)
    if author is not None:
      return self._bounded(author, rows, own)
    return self._by_reference(rows, own)

  def _by_author(self, author, arrays):
    dtype = accumulator(self._main_dtype(arrays))
    loaded = {
        name: Bounded.load(x, dtype)
        if jnp.issubdtype(x.dtype, jnp.floating)
        else x
        for name, x in arrays.items()
    }
    names = positional(author)
    return as_tuple(author(*map(loaded.get, names), **self._attributes))

  def _bounded(self, author, rows, arrays):
    found = [x for x in self._by_author(author, arrays) if x is not None]
    target = rows.target
    results = target.call.op.result_names
    names = target.gradients if target.is_backward else results
    if len(found) != len(names):
      raise ValueError(
          f"{target.name}: the author's definition returns {len(found)} arrays,"
          f" not {len(names)} ({', '.join(names)})."
      )
    found = _wanted(rows.target, found)
    expected = []
    for (name, b), x in zip(rows.visible_results(), found, strict=True):
      if not isinstance(x, Bounded):
        value = rows.result(name, np.asarray(x))
        expected.append(Interval(value, value, b.dtype))
        continue
      x = x.map(functools.partial(rows.full, name))
      if rows.is_shared(name):
        x = x.map(rows.flat)
        *groups, count = x.shape
        x = x.sum(-1, additions=row_additions(count, math.prod(groups)))
      expected.append(
          x.rounded(b.dtype).map(functools.partial(rows.result, name))
      )
    return expected

  def _main_dtype(self, arrays):
    weights = self.case.op.weights
    floating = (
        x.dtype
        for name, x in arrays.items()
        if name not in weights and jnp.issubdtype(x.dtype, jnp.floating)
    )
    return next(floating, np.dtype(np.float32))

  # By the reference, in float64.

  def _by_reference(self, rows, arrays):
    op = rows.target.call.op
    full = [rows.full(name, arrays[name]) for name in op.operands]
    if not rows.target.is_backward:
      found = self.case.all_results.over_rows(
          transforms.of_operands, rows.loops, full
      )
    else:
      cotangents = [
          rows.full("d" + name, arrays["d" + name])
          for name in rows.target.cotangents
      ]
      found = self.case.all_results.over_rows(
          _vjp(len(op.outputs)), rows.loops, full, cotangents
      )
    expected = []
    found = _wanted(rows.target, found)
    for (name, b), x in zip(rows.visible_results(), found):
      terms = max(math.prod(o.core) for o in self.case.operands)
      if rows.is_shared(name):
        x = rows.flat(x)
        terms *= x.shape[-1]
        x = x.sum(-1)
      x = rows.result(name, x)
      allowed = self.case.tolerance * checks.tolerance(
          x, b.dtype, terms, 1, self.case.accumulator
      )
      expected.append(checks.Near(x, b.dtype, allowed))
    return expected

  def arrays(self, target: Target, dims: Mapping[str, Parts], seed: int = 0):
    """Returns operands of a target with these dimensions, and of the op."""
    case, op = self.case, target.call.op
    made = {}
    for i, (name, operand) in enumerate(zip(op.operands, case.operands)):
      made[name] = operand.array(seed + i, dims[name].shape)
    if not target.is_backward:
      return made
    dtypes = target.result_dtypes(target.dtypes)
    results = {}
    for i, name in enumerate(target.operands):
      if name in op.result_names:
        key = (dims[name].leading, dims[name].trailing)
        if key not in results:
          results[key] = self._results(*key, seed, made, dims)
        x = results[key][op.result_names.index(name)]
        made[name] = x.astype(dtypes[name])
      elif name not in made:
        rng = np.random.default_rng([seed, i])
        made[name] = rng.normal(size=dims[name].shape).astype(dtypes[name[1:]])
    return made

  def _results(self, leading, trailing, seed, made, dims):
    """Returns results with these loops, of other operands if that is right."""
    rows = (*leading, *trailing)
    lead, rank = len(leading), len(rows)
    operands = []
    for i, (name, o) in enumerate(zip([*made], self.case.operands)):
      full = (*leading, *o.core, *trailing)
      if self.case.gradient is not None:
        x = o.array(seed + 100 + i, full)
      else:
        own = dims[name]
        ones = (1,) * (lead - len(own.leading))
        behind = own.trailing or (1,) * len(trailing)
        x = made[name].reshape((*own.leading, *ones, *o.core, *behind))
        x = np.broadcast_to(x, full)
      core_end = lead + len(o.core)
      axes = range(core_end, core_end + len(trailing))
      operands.append(np.moveaxis(x, axes, range(lead, rank)))
    return [
        np.moveaxis(x, range(lead, rank), range(x.ndim - rank + lead, x.ndim))
        for x in self._results_of(rows, operands)
    ]

  def _results_of(self, rows, operands):
    case = self.case
    if case.definition is not None:
      names = case.op.operands
      found = self._by_author(case.definition, dict(zip(names, operands)))
      if len(found) == len(case.op.result_names):
        values = [x.value if isinstance(x, Bounded) else x for x in found]
        cores = [x.shape[len(rows) :] for x in values]
        return [
            np.broadcast_to(x, (*rows, *core)).astype(np.float64)
            for x, core in zip(values, cores)
        ]
    return case.all_results.over_rows(transforms.of_operands, rows, operands)


def _wanted(target, found):
  """Returns those results of a definition that the target has."""
  if not target.is_backward:
    return found
  named = zip(target.gradients, found, strict=True)
  return [x for name, x in named if name not in target.unwanted]


@functools.cache
def _vjp(visible):
  def transform(function):
    return lambda operands, cotangents: transforms.vjp(
        lambda *xs: function(*xs)[:visible]
    )(operands, cotangents)[1]

  return transform
