# SPDX-License-Identifier: Apache-2.0
"""vmap: over any axes of any operands, nested, inside and around gradients."""

import functools
import itertools

import jax
import numpy as np

from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.cases.programs import Program
from jax_ffi_ops.kit.testing.conformance.base import Base
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH

_SIZE = 3  # of the batch


class BatchingTest(Base):
  """vmap is one call with one more loop dimension."""

  def test_vmap_over_each_axis(self):
    ranks = [x.ndim for x in self.case.arrays((2,))]
    for index, rank in enumerate(ranks):
      for axis in range(rank + 1) if THOROUGH else {0, rank}:
        # Odd ones are given as negative axes.
        own = axis - rank - 1 if axis % 2 else axis
        self._check_batched(self._axes([index], own))

  def test_vmap_over_several_operands(self):
    count = len(self.case.operands)
    for size in range(2, count + 1):
      for i, chosen in enumerate(itertools.combinations(range(count), size)):
        for axis in (0, -1) if THOROUGH else (-(i % 2),):
          self._check_batched(self._axes(chosen, axis))

  def _axes(self, chosen, axis=0):
    """Returns in_axes for a vmap over an axis of the chosen operands."""
    count = len(self.case.operands)
    return tuple(axis if i in chosen else None for i in range(count))

  def test_vmap_without_other_loops(self):
    """Then what is not batched has no loop dimensions at all."""
    for index in range(len(self.case.operands)):
      self._check_batched(self._axes([index]), loops=())

  def _check_batched(self, axes, loops=(2,)):
    row = f"vmap with in_axes={axes}" + ", no other loops" * (not loops)
    program = self._check_examples(
        row, axes, self._gradient_of_vmap, loops=loops
    )
    self._check_one_call(row, program)

  def test_vmap_of_gradient(self):
    if not self.has_derivatives:
      return
    count = len(self.case.operands)
    for size in range(count + 1) if THOROUGH else sorted({0, 1, count}):
      for chosen in itertools.combinations(range(count), size):
        axes = self._axes(chosen)
        row = f"vmap of vjp with in_axes={axes} and cotangents"
        program = self._check_examples(row, axes, self._vmap_of_gradient)
        self._check_one_call(row, program)

  def test_vmap_of_gradient_with_some_cotangents(self):
    """Others are the same for all examples, and may be of size 1."""
    if not self.has_derivatives:
      return
    axes = self._axes(range(len(self.case.operands)))
    count = len(self.case.cotangents(self.case.arrays((2,))))
    for batched in (None, *(range(count) if count > 1 else ())):
      ct_axes = [0 if i == batched else None for i in range(count)]
      row = f"vmap of vjp with in_axes={ct_axes} of cotangents"
      compute = functools.partial(self._vmap_of_gradient, ct_axes=ct_axes)
      shared = set(range(count)) - {batched}
      self._check_one_call(
          row, self._check_examples(row, axes, compute, shared)
      )

  def test_vmap_with_spmd_axis_name(self):
    function = jax.vmap(self.case, spmd_axis_name="a")
    axes = self._axes(range(len(self.case.operands)))
    with jax.set_mesh(devices.mesh(a=_SIZE)):
      self._check_examples(
          "vmap with spmd_axis_name",
          axes,
          lambda _, *args: self._gradient_of(function, axes, *args),
      )

  # Each of these returns the compiled program of the op, its results, and what
  # they are by the definition of single examples.

  def _gradient_of_vmap(self, axes, *args):
    return self._gradient_of(jax.vmap(self.case, axes), axes, *args)

  def _gradient_of(self, function, axes, operands, cotangents, expected):
    if not self.has_derivatives:
      program = Program(function, *operands)
      return program, program(*operands), expected
    program = Program(transforms.vjp(function), operands, cotangents)
    first = len(expected) - len(self.case.differentiable)
    for slot, index in enumerate(self.case.differentiable, first):
      if axes[index] is None:
        expected[slot] = expected[slot].sum(0)
      else:
        expected[slot] = np.moveaxis(expected[slot], 0, axes[index])
    return program, program(operands, cotangents), expected

  def _vmap_of_gradient(self, axes, operands, cotangents, expected, ct_axes=0):
    function = jax.vmap(transforms.vjp(self.case), (list(axes), ct_axes))
    program = Program(function, operands, cotangents)
    return program, program(operands, cotangents), expected

  def _check_examples(self, row, axes, compute, shared=(), loops=(2,)):
    """Checks a batched call against single ones that share some cotangents."""
    operands = self._operands(axes, loops=loops)
    examples = [_take(operands, axes, index) for index in range(_SIZE)]
    cotangents = [
        self.case.cotangents(x, seed=50 + i) for i, x in enumerate(examples)
    ]
    stacked = _stack(cotangents)
    for index in shared:
      stacked[index] = cotangents[0][index]
      for example in cotangents:
        example[index] = cotangents[0][index]
    labels = self.result_labels(examples[0])
    if self.has_derivatives:
      labels += self.gradient_labels(examples[0])
      expected = [
          self.case.oracle(transforms.vjp, x, ct)
          for x, ct in zip(examples, cotangents)
      ]
    else:
      expected = [self.case.oracle(transforms.of_operands, x) for x in examples]
    program, actual, expected = compute(
        axes, operands, stacked, _stack(expected)
    )
    self.compare(row, actual, expected, labels)
    return program

  def _operands(self, *levels, loops=(2,), seed=0):
    """Returns operands with batch axes where in_axes, innermost first, say."""
    if not levels:
      return self.case.arrays(loops, seed=seed)
    *inner, axes = levels
    examples = [
        self._operands(*inner, loops=loops, seed=10 * seed + 100 * i)
        for i in range(_SIZE)
    ]
    return [
        xs[0] if axis is None else np.stack(xs, axis)
        for xs, axis in zip(zip(*examples), axes)
    ]

  def _check_one_call(self, row, program):
    op = self.case.op
    targets = [op.forward_target]
    if self.has_derivatives and op.backward_platforms:
      targets.append(op.backward_target)
    for target in targets:
      calls = program.calls(target)
      if calls not in self.calls_of(target):
        self.fail_row(row, f"{calls} calls of {target}, not 1")
    if program.has_loop():
      self.fail_row(row, "there is a loop over the batch")

  def test_vmap_copies_nothing(self):
    if self.case.op.buffers.broadcast_operands:
      return  # Copies are what this option asks for.
    for batched in range(len(self.case.operands)):
      axes = self._axes([batched])
      row = f"vmap with in_axes={axes}"
      operands = self._operands(axes)
      program = Program(jax.vmap(self.case, axes), *operands)
      target = self.case.op.forward_target
      (sizes,) = program.call_operands(target)
      for index, (x, size, source) in enumerate(
          zip(operands, sizes, program.sources(target))
      ):
        name = self.case.op.operands[index]
        if x.size != size:
          self.fail_row(
              row, f"{name} was copied from {x.size} to {size} elements"
          )
        # A weight is converted before the call, if it has another dtype.
        converted = name in self.case.op.weights
        # XLA transposes a column-major core.
        converted |= name in self.case.op.buffers.column_major
        if index != batched and source != "parameter" and not converted:
          self.fail_row(row, f"the call does not read {name}, but a {source}")

  def test_vmap_nested(self):
    count = len(self.case.operands)
    every = range(count)
    levels = list(itertools.product([[i] for i in every], repeat=2))
    if not THOROUGH:  # Each operand once inside, and once outside.
      levels = [([i], [(i + 1) % count]) for i in every]
    for inner, outer in (*levels, (every, every)):
      # Without other loops, what is batched once is [3, 1] or [1, 3].
      for loops in ((2,), ()) if THOROUGH or inner == [0] else ((2,),):
        self._check_nested(self._axes(inner), self._axes(outer, -1), loops)

  def _check_nested(self, inner, outer, loops):
    row = f"vmap with in_axes={inner} inside vmap with in_axes={outer}"
    operands = self._operands(inner, outer, loops=loops)
    program = Program(jax.vmap(jax.vmap(self.case, inner), outer), *operands)
    expected = _stack(
        [
            _stack(
                [
                    self.case.oracle(
                        transforms.of_operands, _take(one, inner, i)
                    )
                    for i in range(_SIZE)
                ]
            )
            for one in (_take(operands, outer, o) for o in range(_SIZE))
        ]
    )
    labels = self.result_labels(self.case.arrays(loops))
    self.compare(row, program(*operands), expected, labels)
    calls = program.calls(self.case.op.forward_target)
    if calls != 1:
      self.fail_row(row, f"{calls} calls, not 1")


def _stack(examples):
  return [np.stack(arrays) for arrays in zip(*examples)]


def _take(operands, axes, index):
  return [
      x if axis is None else np.take(x, index, axis)
      for x, axis in zip(operands, axes)
  ]
