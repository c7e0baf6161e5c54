# SPDX-License-Identifier: Apache-2.0
"""First derivatives, in both modes, by the right handler."""

import jax
from jax.dtypes import float0
import numpy as np

from jax_ffi_ops.kit.testing.cases import programs
from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.conformance.base import Base
from jax_ffi_ops.kit.testing.conformance.base import Label


class DerivativesTest(Base):
  """Derivatives are the definition's, or it is said that there are none."""

  def test_no_derivatives_without_a_reference(self):
    """If an op has no rule either, its author hears that."""
    if self.case.op.has_derivatives or not self.case.differentiable:
      return
    operands = self.case.arrays()
    jvp = jax.jit(transforms.jvp(self.case))
    with self.assertRaisesRegex(NotImplementedError, self.case.op.name):
      jvp.lower(operands, self.case.tangents(operands))

  def test_vjp_calls_the_backward_handler(self):
    if not self.has_derivatives:
      return
    op = self.case.op
    program = self.check_same("vjp", self.case)
    for target in (op.forward_target, op.backward_target):
      expected = self.calls_of(target)
      # Equal calls that JAX makes are one call after optimization.
      made = len(program.call_operands(target))
      for calls in (made, program.calls(target)):
        if calls not in expected:
          self.fail_row("vjp", f"{calls} calls of {target}, not {expected[0]}")

  def test_eager_vjp(self):
    if not self.has_derivatives:
      return
    operands = self.case.arrays((2,))
    cotangents = self.case.cotangents(operands)
    actual = transforms.vjp(self.case)(operands, cotangents)
    self.compare_vjp("an eager vjp", actual, operands, cotangents)

  def test_vjp_at_ties(self):
    """Random numbers meet no kinks of a reference; small integers do."""
    if not self.has_derivatives:
      return
    operands = [
        np.round(x) if own.values is None else x
        for own, x in zip(self.case.operands, self.case.arrays((2,)))
    ]
    cotangents = self.case.cotangents(operands)
    expected = self.case.oracle(transforms.vjp, operands, cotangents)
    if not all(np.isfinite(x).all() for x in expected):
      return  # The reference may not be defined there.
    actual = transforms.vjp(self.case)(operands, cotangents)
    labels = self.result_labels(operands) + self.gradient_labels(operands)
    self.compare("a vjp at small integers", actual, expected, labels)

  def test_vjp_of_each_operand_alone(self):
    if not self.has_derivatives:
      return
    operands = self.case.arrays()
    cotangents = self.case.cotangents(operands)
    expected = self.case.oracle(transforms.vjp, operands, cotangents)
    gradients = expected[-len(self.case.differentiable) :]
    labels = self.gradient_labels(operands)
    for index, want, label in zip(
        self.case.differentiable, gradients, labels, strict=True
    ):
      actual = jax.jit(self._vjp_of(index))(operands, cotangents)
      row = f"vjp of {self.case.op.operands[index]} alone"
      self.compare(row, actual, want, [label])

  def _vjp_of(self, index):
    def vjp(operands, cotangents):
      results, vjp = jax.vjp(
          lambda x: self.case(*operands[:index], x, *operands[index + 1 :]),
          operands[index],
      )
      return vjp(transforms.real_tangents(results, cotangents))

    return vjp

  def test_jvp(self):
    if self.has_derivatives:
      self.check_jvp("jvp", self.case, self.case.arrays())

  def test_linearize_and_its_transpose(self):
    if not self.has_derivatives:
      return
    operands = self.case.arrays((2,))
    args = (
        operands,
        self.case.tangents(operands),
        self.case.cotangents(operands),
    )
    self.compare(
        "linearize and its transpose",
        programs.jit(transforms.linearized(self.case))(*args),
        self.case.oracle(transforms.linearized, *args),
        self.tangent_labels(operands) + self.gradient_labels(operands),
    )

  def test_jacobians(self):
    if not self.has_derivatives:
      return
    operands = self.case.arrays((2,))
    moving = [operands[i] for i in self.case.differentiable]
    names = [
        f"{tangent.name} by {gradient.name}"
        for tangent in self.tangent_labels(operands)
        for gradient in self.gradient_labels(operands)
    ]
    expected = self.case.oracle(_by_jacfwd, moving, operands)
    for row, transform in (("jacfwd", _by_jacfwd), ("jacrev", _by_jacrev)):
      actual = jax.tree.leaves(
          programs.jit(transform(self.case))(moving, operands)
      )
      labels = [Label(name, x.dtype) for name, x in zip(names, actual)]
      self.compare(row, actual, expected, labels)

  def test_integer_operands(self):
    operands = self.case.arrays()
    for index, x in enumerate(operands):
      if index in self.case.differentiable or not self.has_derivatives:
        continue
      results, vjp = jax.vjp(self.case, *operands)
      cotangents = self.case.cotangents(operands)
      gradient = vjp(transforms.real_tangents(results, cotangents))[index]
      if gradient.dtype != float0 or gradient.shape != x.shape:
        name = self.case.op.operands[index]
        self.fail_row("vjp", f"the gradient of {name} is {gradient!r}")


def _by_jacfwd(function):
  return jax.jacfwd(transforms.of_moving(function))


def _by_jacrev(function):
  return jax.jacrev(transforms.of_moving(function))
