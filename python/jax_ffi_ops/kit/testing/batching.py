# SPDX-License-Identifier: Apache-2.0
"""vmap: over any axes of any operands, nested, inside and around gradients."""

import itertools

import jax
import numpy as np

from jax_ffi_ops.kit.testing import transforms
from jax_ffi_ops.kit.testing.base import Base
from jax_ffi_ops.kit.testing.devices import mesh
from jax_ffi_ops.kit.testing.programs import Program

_SIZE = 3  # of the batch

# What may be around a call: nothing that computes or copies.
_FREE = {
    "parameter", "bitcast", "custom-call", "get-tuple-element", "tuple",
    "reshape", "constant",
}  # fmt: skip


class BatchingTest(Base):
  """vmap is one call with one more loop dimension."""

  def test_every_axis_of_each_operand(self):
    for axes in self._axes():
      self.check_batched(axes)

  def _axes(self):
    """Yields in_axes: all for single operands, the outer ones for several."""
    ranks = [x.ndim for x in self.case.arrays((2,))]
    count = len(ranks)
    for index, rank in enumerate(ranks):
      for axis in range(rank + 1):
        negative = axis - rank - 1
        yield tuple(
            (negative if axis % 2 else axis) if i == index else None
            for i in range(count)
        )
    for size in range(2, count + 1):
      for subset in itertools.combinations(range(count), size):
        for axis in (0, -1):
          yield tuple(axis if i in subset else None for i in range(count))

  def check_batched(self, axes):
    row = f"vmap with in_axes={axes}"
    operands = self._batched_operands(axes)
    program = self.check_by_slices(row, jax.vmap(self.case, axes), operands, axes)
    self.check_one_call(row, program)

  def _batched_operands(self, axes):
    """Returns operands with a batch axis of size 3 where `axes` says."""
    examples = [
        self.case.arrays((2,), seed=100 * index) for index in range(_SIZE)
    ]
    return [
        xs[0] if axis is None else np.stack(xs, axis)
        for xs, axis in zip(zip(*examples), axes)
    ]

  def check_by_slices(self, row, function, operands, axes, inside=False):
    """Checks a batched function against the definition of each example."""
    examples = [
        [
            x if axis is None else np.take(x, index, axis)
            for x, axis in zip(operands, axes)
        ]
        for index in range(_SIZE)
    ]
    dtypes, names = self.describe(examples[0])
    count = len(self.case.avals(examples[0]))
    if not self.has_derivatives:
      program = Program(function, *operands)
      expected = [
          self.case.oracle(transforms.of_operands, x) for x in examples
      ]
      self.compare_arrays(
          row,
          jax.tree.leaves(program(*operands)),
          [np.stack(x) for x in zip(*expected)],
          dtypes[:count],
          names[:count],
      )
      return program
    cotangents = [
        self.case.cotangents(x, seed=50 + i) for i, x in enumerate(examples)
    ]
    stacked = [np.stack(x) for x in zip(*cotangents)]
    if inside:
      function = jax.vmap(transforms.pull_back(function), (list(axes), 0))
    else:
      function = transforms.pull_back(function)
    program = Program(function, operands, stacked)
    expected = [
        self.case.oracle(transforms.pull_back, x, ct)
        for x, ct in zip(examples, cotangents)
    ]
    summed = [np.stack(x) for x in zip(*expected)]
    if not inside:
      for slot, index in enumerate(self.case.differentiable, count):
        axis = axes[index]
        summed[slot] = (
            summed[slot].sum(0)
            if axis is None
            else np.moveaxis(summed[slot], 0, axis)
        )
    self.compare_arrays(
        row, jax.tree.leaves(program(operands, stacked)), summed, dtypes, names
    )
    return program

  def check_one_call(self, row, program):
    op = self.case.op
    targets = [op.forward_target]
    if self.has_derivatives and op.backward_platforms:
      targets.append(op.backward_target)
    for target in targets:
      if program.calls(target) != 1:
        self.fail_row(row, f"{program.calls(target)} calls of {target}, not 1")
    if "while" in program.opcodes():
      self.fail_row(row, "there is a loop over the batch")

  def test_gradient_per_example(self):
    if not self.has_derivatives:
      return
    count = len(self.case.operands)
    subsets = set(itertools.product((0, None), repeat=count))
    for axes in sorted(subsets, key=str):
      row = f"vmap of vjp with in_axes={axes} (and of the cotangents)"
      operands = self._batched_operands(axes)
      program = self.check_by_slices(row, self.case, operands, axes, inside=True)
      self.check_one_call(row, program)

  def test_what_is_not_batched_is_not_copied(self):
    count = len(self.case.operands)
    for batched in range(count):
      if count == 1:
        break
      axes = tuple(0 if i == batched else None for i in range(count))
      row = f"vmap with in_axes={axes}"
      operands = self._batched_operands(axes)
      program = Program(jax.vmap(self.case, axes), *operands)
      (sizes,) = program.call_operands(self.case.op.forward_target)
      for name, x, size in zip(self.case.op.operands, operands, sizes):
        if x.size != size:
          self.fail_row(row, f"{name} was copied from {x.size} to {size} numbers")
      copying = program.opcodes() - _FREE
      if copying:
        self.fail_row(row, f"the program has {sorted(copying)}, not just the call")

  def test_nested(self):
    count = len(self.case.operands)
    both = (0,) * count
    for inner, outer in itertools.product(range(count), repeat=2):
      levels = [
          tuple(0 if i == index else None for i in range(count))
          for index in (inner, outer)
      ]
      self.check_nested(levels)
    self.check_nested([both, (-1,) * count])

  def check_nested(self, levels):
    row = f"nested vmap with in_axes={levels[0]} inside {levels[1]}"
    operands = self.case.arrays((2,))
    for axes in levels:
      operands = [
          x if axis is None else np.stack([x, x[..., ::-1]] if x.ndim else [x, -x], axis)
          for x, axis in zip(operands, axes)
      ]
    function = jax.vmap(jax.vmap(self.case, levels[0]), levels[1])
    program = Program(function, *operands)
    by_index = np.frompyfunc(lambda i: i, 1, 1)
    del by_index
    rows = []
    for outer in range(2):
      outer_operands = _take(operands, levels[1], outer)
      rows.append([
          self.case.oracle(
              transforms.of_operands, _take(outer_operands, levels[0], inner)
          )
          for inner in range(2)
      ])
    expected = [
        np.stack([np.stack([rows[o][i][r] for i in range(2)]) for o in range(2)])
        for r in range(len(rows[0][0]))
    ]
    avals = self.case.avals(_take(_take(operands, levels[1], 0), levels[0], 0))
    self.compare_arrays(
        row,
        jax.tree.leaves(program(*operands)),
        expected,
        [x.dtype for x in avals],
        self.result_names(avals),
    )
    if program.calls(self.case.op.forward_target) != 1:
      self.fail_row(row, "not one call")

  def test_spmd_axis_name(self):
    axes = (0,) * len(self.case.operands)
    devices = mesh(a=3)
    function = jax.vmap(self.case, axes, spmd_axis_name="a")
    with jax.set_mesh(devices):
      operands = self._batched_operands(axes)
      self.check_by_slices("vmap with spmd_axis_name", function, operands, axes)


def _take(operands, axes, index):
  return [
      x if axis is None else np.take(x, index, axis)
      for x, axis in zip(operands, axes)
  ]
