# SPDX-License-Identifier: Apache-2.0
"""What the tests of all transformations have in common."""

from collections.abc import Callable, Sequence
import contextlib
import ctypes
import os
import sys
from typing import Any, NamedTuple
import unittest

from absl.testing import absltest
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.calls import choice
from jax_ffi_ops.kit.testing.cases import programs
from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.cases.case import Case
from jax_ffi_ops.kit.testing.cases.case import LOOPS
from jax_ffi_ops.kit.testing.cases.programs import Program
from jax_ffi_ops.kit.testing.exactness import checks

# Whether tests try all there is, which takes several times as long. Most faults
# are seen without. In this repository, such tests have the tag slow.
THOROUGH = os.environ.get("JAX_FFI_OPS_THOROUGH_TESTS") == "1"

_M_PERTURB = -6  # of mallopt(3)
_FILLED = 2**22  # elements of a GPU's memory, more than a case takes


class Label(NamedTuple):
  """What an array is, for messages, and what it has to be.

  Attributes:
    name: see above.
    dtype: that it has to have.
    parts: how many parts it may be a sum of, each rounded to the dtype.
  """

  name: str
  dtype: Any
  parts: int = 0


class Base(absltest.TestCase):
  """Checks of one op.

  Attributes:
    case: the op and its operands; set by a subclass.
    at_any_speed: what makes calls run handlers, until a test closes it.
  """

  case: Case
  at_any_speed: contextlib.ExitStack

  def setUp(self):
    super().setUp()
    if not hasattr(type(self), "case"):
      self.fail(f"{type(self).__name__} needs the class attribute `case`.")
    # As the dtypes need it, whatever other tests have set.
    self.enter_context(jax.enable_x64(self.case.is_wide))
    self.at_any_speed = self.enter_context(contextlib.ExitStack())
    self.at_any_speed.enter_context(choice.using("handler if served"))
    self._require_reference()
    _fill_memory(0x5A)
    self.addCleanup(_fill_memory, 0)

  def needs_reference(self) -> bool:
    """Whether the tests of the class compare with the reference."""
    return True

  def _require_reference(self):
    """Has one test of a class say that it has no reference, and no other."""
    case, cls = self.case, type(self)
    if case.reference or not self.needs_reference() or case.op.reference:
      return
    if vars(cls).get("_has_said_so"):
      self.skipTest("Another test says what the class lacks.")
    cls._has_said_so = True
    case.oracle  # It raises an error.  # pylint: disable=pointless-statement

  def run(self, result: unittest.TestResult | None = None):
    """Says at once what fails; unittest says it when all tests have ended."""
    known = len(_failures(result))
    result = super().run(result)
    for text in _failures(result)[known:]:
      print(f"{self.id()}:\n{text}", file=sys.stderr, flush=True)
    return result

  @property
  def has_derivatives(self) -> bool:
    if not self.case.op.has_derivatives or not self.case.differentiable:
      return False
    dtypes = (x.dtype for x in self.case.result_cores)
    return any(map(self.case.op.is_differentiable, dtypes))

  def calls_of(self, target: str) -> tuple[int, ...]:
    """Returns how many calls of a target values and gradients may take."""
    op = self.case.op
    if target == op.backward_target:
      return (1 if op.backward_platforms else 0,)
    # Rules may be in terms of the op itself.
    return tuple(range(1, 2 + self.case.calls_in_rules(target)))

  def fail_row(self, row: str, problem: str) -> None:
    self.fail(f"{self.case.op.name} under {row}: {problem}.")

  # What arrays are called.

  def result_labels(self, operands: Sequence[Any]) -> list[Label]:
    avals = self.case.avals(operands)
    if len(avals) == 1:
      return [Label("the result", avals[0].dtype)]
    return [Label(f"result {i}", x.dtype) for i, x in enumerate(avals)]

  def tangent_labels(self, operands: Sequence[Any]) -> list[Label]:
    return [
        Label(f"the tangent of {label.name}", label.dtype)
        for label in self.result_labels(operands)
        if self.case.op.is_differentiable(label.dtype)
    ]

  def gradient_labels(self, operands: Sequence[Any]) -> list[Label]:
    """Gradients are added up by steps of loops, and over devices."""
    names = self.case.op.operands
    return [
        Label(f"the gradient of {names[i]}", operands[i].dtype, parts=LOOPS[0])
        for i in self.case.differentiable
    ]

  # Comparisons with the definition.

  def compare(
      self, row: str, actual: Any, expected: Any, labels: Sequence[Label]
  ) -> None:
    """Fails unless arrays are what is expected.

    Args:
      row: the transformation, for messages.
      actual: pytree of arrays.
      expected: pytree of as many arrays, of high precision.
      labels: of each.
    """
    actual = jax.tree.leaves(actual)
    expected = jax.tree.leaves(expected)
    if not len(actual) == len(expected) == len(labels):
      self.fail_row(
          row, f"there are {len(actual)} arrays, not {len(expected)}: {labels}"
      )
    for label, got, want in zip(labels, actual, expected):
      allowed = checks.tolerance(
          want,
          label.dtype,
          self.case.terms,
          label.parts,
          self.case.accumulator,
      )
      problem = checks.difference(
          got, want, label.dtype, self.case.tolerance * allowed
      )
      if problem:
        self.fail_row(row, f"{label.name} {problem}")

  def compare_values(self, row, actual, operands):
    expected = self.case.oracle(transforms.of_operands, operands)
    self.compare(row, actual, expected, self.result_labels(operands))

  def compare_vjp(self, row, actual, operands, cotangents):
    expected = self.case.oracle(transforms.vjp, operands, cotangents)
    labels = self.result_labels(operands) + self.gradient_labels(operands)
    self.compare(row, actual, expected, labels)

  def check_values(
      self, row: str, function: Callable[..., Any], operands: Sequence[Any]
  ) -> None:
    """Checks that `function` has the values of the op."""
    self.compare_values(row, function(*operands), operands)

  def check_jvp(self, row, function, operands):
    """Checks that `function` has the values and tangents of the op."""
    args = (operands, self.case.tangents(operands))
    self.compare(
        row,
        programs.jit(transforms.jvp(function))(*args),
        self.case.oracle(transforms.jvp, *args),
        self.result_labels(operands) + self.tangent_labels(operands),
    )

  def check_same(
      self,
      row: str,
      function: Callable[..., Any],
      operands: Sequence[Any] | None = None,
  ) -> Program:
    """Checks that `function` has the values and gradients of the op.

    Args:
      row: the transformation, for messages.
      function: of operands, like the case.
      operands: by default with all loop dimensions.

    Returns:
      The compiled program of values and gradients.
    """
    operands = self.case.arrays() if operands is None else operands
    args = operands
    if self.has_derivatives:
      args = (operands, self.case.cotangents(operands))
      function = transforms.vjp(function)
    program = Program(function, *args)
    self.check_program(row, program, operands)
    return program

  def check_program(
      self, row: str, program: Program, operands: Sequence[Any]
  ) -> None:
    """Checks what `check_same` returns with such operands."""
    if not self.has_derivatives:
      self.compare_values(row, program(*operands), operands)
      return
    cotangents = self.case.cotangents(operands)
    actual = program(operands, cotangents)
    self.compare_vjp(row, actual, operands, cotangents)


def _failures(result):
  lists = [getattr(result, name, []) for name in ("failures", "errors")]
  return [text for _, text in sum(lists, [])]


def _fill_memory(value):
  """Has new memory be no zeros, so that a result shows that is not written."""
  mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
  if mallopt is not None:
    mallopt(_M_PERTURB, value)
  if value and jax.default_backend() != "cpu":
    # Freed at once: the next arrays are likely to be in the same place.
    jax.block_until_ready(jnp.full(_FILLED, np.nan))


def copies(arrays: Sequence[Any]) -> list[np.ndarray]:
  return [np.array(x) for x in arrays]
