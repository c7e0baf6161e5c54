# SPDX-License-Identifier: Apache-2.0
"""What direct calls of an op's targets return by its definition."""

from collections.abc import Mapping
import functools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.dtypes import accumulator
from jax_ffi_ops.kit.rules import positional
from jax_ffi_ops.kit.testing import checks
from jax_ffi_ops.kit.testing import transforms
from jax_ffi_ops.kit.testing.bounded import Bounded
from jax_ffi_ops.kit.testing.bounded import row_additions
from jax_ffi_ops.kit.testing.contract import Target
from jax_ffi_ops.kit.testing.frames import Frame
from jax_ffi_ops.kit.testing.interval import Interval
from jax_ffi_ops.kit.testing.rows import Rows

Arrays = Mapping[str, np.ndarray]


class Definition:
  """The results of a case's targets, by its definitions or its reference."""

  def __init__(self, case: Any):
    self._case = case
    self._attributes = case.plain_attributes

  def results(self, target: Target, frame: Frame, arrays: Arrays) -> list[Any]:
    """Returns, for each result of a call, what says whether it is right."""
    rows = Rows(target, frame)
    own = {name: rows.of(name, x) for name, x in arrays.items()}
    author = self._case.gradient if target.is_backward else self._case.definition
    if author is not None:
      return self._bounded(author, rows, own)
    return self._by_reference(rows, own)

  def _bounded(self, author, rows, arrays):
    dtype = accumulator(self._case.main_dtype)
    loaded = {
        name: Bounded.load(x, dtype)
        if jnp.issubdtype(x.dtype, jnp.floating)
        else x
        for name, x in arrays.items()
    }
    names = positional(author)
    found = author(*map(loaded.get, names), **self._attributes)
    if not isinstance(found, tuple):
      found = (found,)
    found = [x for x in found if x is not None]
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
      expected.append(x.rounded(b.dtype).map(functools.partial(rows.result, name)))
    return expected

  # By the reference, in float64.

  def _by_reference(self, rows, arrays):
    op = rows.target.call.op
    full = [rows.full(name, arrays[name]) for name in op.operands]
    if not rows.target.is_backward:
      found = self._case.all_results(transforms.of_operands, full)
    else:
      cotangents = [
          rows.full("d" + name, arrays["d" + name])
          for name in rows.target.cotangents
      ]
      found = self._case.all_results(
          _pull_back(len(op.outputs)), full, cotangents
      )
    expected = []
    for (name, b), x in zip(rows.visible_results(), found):
      terms = max(math.prod(o.core) for o in self._case.operands)
      if rows.is_shared(name):
        x = rows.flat(x)
        terms *= x.shape[-1]
        x = x.sum(-1)
      x = rows.result(name, x)
      allowed = self._case.tolerance * checks.tolerance(x, b.dtype, terms, 1)
      expected.append(checks.Near(x, b.dtype, allowed))
    return expected

  def arrays(
      self, target: Target, loops: Mapping[str, Any], seed: int = 0
  ) -> Arrays:
    """Returns operands of a target that have these (leading, trailing) loops.

    Without a definition of gradients, residuals are those of the operands.
    """
    case, op = self._case, target.call.op
    made = {}
    for i, (name, operand) in enumerate(zip(op.operands, case.operands)):
      leading, trailing = loops[name]
      if not op.axes[name][1]:
        trailing = ()
      shape = (*leading, *operand.core, *trailing)
      made[name] = operand.array(seed + i, shape)
    if not target.is_backward:
      return made
    results = [n for n in op.kept if n not in made]
    dtypes = target.other_dtypes(target.dtypes)
    sizes = dict(
        zip(
            (d for c in op.signature.operands for d in c),
            (s for o in case.operands for s in o.core),
        )
    )
    for i, name in enumerate((*results, *("d" + n for n in target.cotangents))):
      leading, trailing = loops[name]
      core = target.call.core(name, sizes)
      if name in results:
        made[name] = self._result(target, name, leading, trailing, seed)
      else:
        rng = np.random.default_rng([seed, i])
        made[name] = rng.normal(size=(*leading, *core, *trailing)).astype(
            dtypes[name]
        )
    return {name: made[name] for name in (*target.operands, *op.operands)}

  def _result(self, target, name, leading, trailing, seed):
    """Returns a result of operands with these loops, of other values."""
    op = target.call.op
    seed = seed + 100 if self._case.gradient is not None else seed
    rows = (*leading, *trailing)
    operands = [
        o.array(seed + i, (*rows, *o.core))
        for i, o in enumerate(self._case.operands)
    ]
    found = self._case.all_results(transforms.of_operands, operands)
    x = found[op.result_names.index(name)]
    core = x.ndim - len(rows)
    order = [
        *range(len(leading)),
        *range(len(rows), len(rows) + core),
        *range(len(leading), len(rows)),
    ]
    dtype = target.other_dtypes(target.dtypes)[name]
    return np.transpose(x, order).astype(dtype)


@functools.cache
def _pull_back(visible):
  def transform(function):
    return lambda operands, cotangents: transforms.pull_back(
        lambda *xs: function(*xs)[:visible]
    )(operands, cotangents)[1]

  return transform
