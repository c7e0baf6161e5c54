# SPDX-License-Identifier: Apache-2.0
"""What the tests of all transformations have in common."""

from collections.abc import Callable, Sequence
import ctypes
from typing import Any

from absl.testing import absltest
import jax
import numpy as np

from jax_ffi_ops.kit.testing import checks
from jax_ffi_ops.kit.testing import transforms
from jax_ffi_ops.kit.testing.case import Case
from jax_ffi_ops.kit.testing.programs import Program

_M_PERTURB = -6  # of mallopt(3)


class Base(absltest.TestCase):
  """The checks of one op's case.

  Attributes:
    case: to be set by a subclass.
  """

  case: Case

  def setUp(self):
    super().setUp()
    if not hasattr(type(self), "case"):
      self.fail(f"{type(self).__name__} needs the class attribute `case`.")
    # As their dtypes need it, whatever other tests have set.
    self.enter_context(jax.enable_x64(self.case.is_wide))
    self._fill_memory(0x5A)
    self.addCleanup(self._fill_memory, 0)

  def _fill_memory(self, value):
    # What malloc returns is no zeros: a result that is not written shows.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
      mallopt(_M_PERTURB, value)

  @property
  def has_derivatives(self) -> bool:
    return self.case.op.reference is not None and bool(self.case.differentiable)

  def fail_row(self, row: str, problem: str) -> None:
    self.fail(f"{self.case.op.name} under {row}: {problem}.")

  def compare(
      self,
      row: str,
      transform: Callable[..., Any],
      actual: Any,
      dtypes: Sequence[Any],
      names: Sequence[str],
      *args: Any,
  ) -> None:
    """Compares arrays with the definition's.

    Args:
      row: the transformation, for messages.
      transform: of `transforms`; what is compared with.
      actual: pytree of arrays.
      dtypes: that each of them must have.
      names: of each of them, for messages.
      *args: of the transformed function.
    """
    self.compare_arrays(
        row,
        jax.tree.leaves(actual),
        self.case.oracle(transform, *args),
        dtypes,
        names,
    )

  def compare_arrays(self, row, actual, expected, dtypes, names):
    """Compares arrays with expected ones of high precision."""
    lengths = {len(actual), len(expected), len(dtypes), len(names)}
    if len(lengths) != 1:
      self.fail_row(row, f"{len(actual)} arrays, not {len(expected)} ({names})")
    for name, got, want, dtype in zip(names, actual, expected, dtypes):
      allowed = self.case.tolerance * checks.tolerance(
          want, dtype, self.case.terms
      )
      problem = checks.difference(got, want, dtype, allowed)
      if problem:
        self.fail_row(row, f"{name} {problem}")

  def describe(self, operands, prefix="the gradient of "):
    """Returns (dtypes, names) of results, and what is there per operand."""
    avals = self.case.avals(operands)
    moving = self.case.differentiable
    names = [self.case.op.operands[i] for i in moving]
    return (
        [*(x.dtype for x in avals), *(operands[i].dtype for i in moving)],
        [*self.result_names(avals), *(prefix + name for name in names)],
    )

  def result_names(self, avals) -> list[str]:
    if len(avals) == 1:
      return ["the result"]
    return [f"result {index}" for index in range(len(avals))]

  def check_values(self, row: str, function, operands) -> None:
    """Checks that `function` has the values of the op."""
    avals = self.case.avals(operands)
    self.compare(
        row,
        transforms.of_operands,
        function(*operands),
        [x.dtype for x in avals],
        self.result_names(avals),
        operands,
    )

  def check_same(self, row: str, function, operands=None) -> Program:
    """Checks that `function` has the values and gradients of the op.

    Args:
      row: for messages.
      function: of operands, like the case.
      operands: by default with all loop dimensions.

    Returns:
      The compiled program of both.
    """
    operands = self.case.arrays() if operands is None else operands
    if not self.has_derivatives:
      program = Program(function, *operands)
      self.check_values(row, program, operands)
      return program
    cotangents = self.case.cotangents(operands)
    program = Program(transforms.pull_back(function), operands, cotangents)
    self.check_pull_back(row, program(operands, cotangents), operands, cotangents)
    return program

  def check_pull_back(self, row, actual, operands, cotangents):
    self.compare(
        row,
        transforms.pull_back,
        actual,
        *self.describe(operands),
        operands,
        cotangents,
    )

  def check_unchanged(self, row, names, before, after) -> None:
    for index in checks.same_bits(before, after):
      self.fail_row(
          row,
          f"{names[index]} is not what it was before the call: a handler writes"
          " into its operand",
      )


def copies(arrays: Sequence[Any]) -> list[np.ndarray]:
  return [np.array(x) for x in arrays]
