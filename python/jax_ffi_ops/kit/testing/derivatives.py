# SPDX-License-Identifier: Apache-2.0
"""Derivatives: both modes, of first and second order, by the right handler."""

import jax
from jax.dtypes import float0
import jax.numpy as jnp
from jax.test_util import check_grads
import numpy as np

from jax_ffi_ops.kit.testing import transforms
from jax_ffi_ops.kit.testing.base import Base
from jax_ffi_ops.kit.testing.programs import Program


class DerivativesTest(Base):
  """Derivatives are those of the definition."""

  def setUp(self):
    super().setUp()
    self._small = self.case.arrays((2,))

  def test_without_reference(self):
    """An op without a reference says that it has no derivatives."""
    if self.case.op.reference is not None or not self.case.differentiable:
      return
    with self.assertRaisesRegex(NotImplementedError, self.case.op.name):
      transforms.push_forward(self.case)(
          self._small, self.case.tangents(self._small)
      )

  def test_vjp_calls_the_backward_handler(self):
    if not self.has_derivatives:
      return
    op = self.case.op
    operands = self.case.arrays()
    row = "vjp"
    program = self.check_same(row, self.case, operands)
    expected = {op.forward_target: 1}
    expected[op.backward_target] = 1 if op.backward_platforms else 0
    for target, count in expected.items():
      before = len(program.call_operands(target))
      for got in (before, program.calls(target)):
        if got != count:
          self.fail_row(row, f"{got} calls of {target}, not {count}")

  def test_vjp_of_some_operands(self):
    if not self.has_derivatives:
      return
    operands = self.case.arrays()
    cotangents = self.case.cotangents(operands)
    expected = self.case.oracle(transforms.pull_back, operands, cotangents)
    first = len(expected) - len(self.case.differentiable)
    for slot, index in enumerate(self.case.differentiable, first):
      def alone(x, *others):
        mixed = list(others)
        mixed[index] = x
        return self.case(*mixed)

      def vjp(x, *others):
        results, pull_back = jax.vjp(lambda x: alone(x, *others), x)
        return pull_back(transforms.real_tangents(results, cotangents))[0]

      name = self.case.op.operands[index]
      self.compare_arrays(
          f"vjp of {name} alone",
          [jax.jit(vjp)(operands[index], *operands)],
          [expected[slot]],
          [operands[index].dtype],
          [f"the gradient of {name}"],
      )

  def test_eager_vjp(self):
    if not self.has_derivatives:
      return
    cotangents = self.case.cotangents(self._small)
    actual = transforms.pull_back(self.case)(self._small, cotangents)
    self.check_pull_back("an eager vjp", actual, self._small, cotangents)

  def test_jvp(self):
    if not self.has_derivatives:
      return
    operands = self.case.arrays()
    tangents = self.case.tangents(operands)
    args = (operands, tangents)
    actual = jax.jit(transforms.push_forward(self.case))(*args)
    self.compare("jvp", transforms.push_forward, actual, *self._forward(operands),
                 *args)

  def _forward(self, operands):
    avals = self.case.avals(operands)
    names = self.result_names(avals)
    moving = [
        (x.dtype, f"the tangent of {name}")
        for name, x in zip(names, avals)
        if self.case.op.is_differentiable(x.dtype)
    ]
    return (
        [*(x.dtype for x in avals), *(dtype for dtype, _ in moving)],
        [*names, *(name for _, name in moving)],
    )

  def test_linearize_and_its_transpose(self):
    if not self.has_derivatives:
      return
    operands = self._small
    args = (
        operands, self.case.tangents(operands), self.case.cotangents(operands)
    )
    actual = jax.jit(transforms.linearized(self.case))(*args)
    dtypes, names = self._forward(operands)
    moving = self.case.differentiable
    self.compare(
        "linearize",
        transforms.linearized,
        actual,
        [*dtypes, *(operands[i].dtype for i in moving)],
        [
            *names,
            *(f"the transpose for {self.case.op.operands[i]}" for i in moving),
        ],
        *args,
    )

  def test_jacobians(self):
    if not self.has_derivatives:
      return
    for jacobian in (jax.jacfwd, jax.jacrev):
      self._check_all(jacobian.__name__, jacobian, _jacobian_by_jacfwd)

  def _check_all(self, row, transform, by_definition):
    """Checks derivatives of a weighted sum, or of all results."""
    operands = self._small
    moving = [operands[i] for i in self.case.differentiable]
    weights = self.case.cotangents(operands)
    args = (moving, operands, weights)
    actual = jax.tree.leaves(jax.jit(_apply(transform)(self.case))(*args))
    expected = self.case.oracle(by_definition, *args)
    self.compare_arrays(
        row,
        actual,
        expected,
        [x.dtype for x in actual],
        [f"block {i}" for i in range(len(expected))],
    )

  def test_second_order(self):
    if not self.has_derivatives:
      return
    orders = {
        "hessian": (jax.jacfwd, jax.jacrev),
        "reverse over reverse": (jax.jacrev, jax.jacrev),
        "forward over forward": (jax.jacfwd, jax.jacfwd),
        "reverse over forward": (jax.jacrev, jax.jacfwd),
    }
    for row, (outer, inner) in orders.items():
      self._check_hessian(row, outer, inner)

  def _check_hessian(self, row, outer, inner):
    def transform(function):
      return outer(inner(transforms.weighted(function)))

    operands = self._small
    moving = [operands[i] for i in self.case.differentiable]
    args = (moving, operands, self.case.cotangents(operands))
    actual = jax.tree.leaves(jax.jit(transform(self.case))(*args))
    expected = self.case.oracle(_hessian, *args)
    self.compare_arrays(
        row,
        actual,
        expected,
        [x.dtype for x in actual],
        [f"block {i}" for i in range(len(expected))],
    )

  def test_check_grads(self):
    if not self.has_derivatives:
      return
    if any(x.dtype.itemsize < 4 for x in self._small):
      return  # Numerical differences say nothing in 16 bits.
    moving = self.case.differentiable

    def function(*chosen):
      mixed = list(self._small)
      for index, x in zip(moving, chosen):
        mixed[index] = x
      return [
          x
          for x in self.case(*mixed)
          if self.case.op.is_differentiable(x.dtype)
      ]

    check_grads(
        jax.jit(function),
        [self._small[i] for i in moving],
        order=2,
        modes=("fwd", "rev"),
        rtol=2e-2,
        atol=2e-2,
    )

  def test_integer_operands(self):
    """Integers have float0 tangents and no gradient."""
    for index, x in enumerate(self._small):
      if index in self.case.differentiable or not self.has_derivatives:
        continue
      name = self.case.op.operands[index]
      _, vjp = jax.vjp(self.case, *self._small)
      results = self.case(*self._small)
      gradient = vjp(
          transforms.real_tangents(results, self.case.cotangents(self._small))
      )[index]
      if gradient.dtype != float0 or gradient.shape != x.shape:
        self.fail_row("vjp", f"the gradient of {name} is {gradient!r}")


def _apply(transform):
  def of(function):
    def run(moving, operands, weights):
      del weights

      def of_moving(moving):
        chosen = iter(moving)
        results = function(
            *(
                next(chosen) if jnp.issubdtype(x.dtype, jnp.inexact) else x
                for x in operands
            )
        )
        return [x for x in results if jnp.issubdtype(x.dtype, jnp.inexact)]

      return transform(of_moving)(moving)

    return run

  return of


_jacobian_by_jacfwd = _apply(jax.jacfwd)


def _hessian(function):
  return jax.hessian(transforms.weighted(function))
