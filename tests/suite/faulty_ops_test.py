# SPDX-License-Identifier: Apache-2.0
"""The conformance suite finds what is wrong with an op, and says what it is."""

import unittest

from absl.testing import absltest
from absl.testing import parameterized
import faulty_ops
from faulty_ops import declare
import jax.numpy as jnp

from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.calls.backward import BackwardCall
from jax_ffi_ops.kit.calls.forward import ForwardCall
from jax_ffi_ops.kit.primitives.forward import ForwardPrimitive

_NUMBERS = r"-?\d\S*, expected -?\d\S*; \d+ of \d+ elements are wrong"


def _failures(op, suite, *tests):
  """Runs tests of a suite for an op; returns what they say."""
  case = testing.Case(op, [testing.Operand((4,)), testing.Operand((4,))])
  test_class = type("Test", (suite,), {"case": case})
  result = unittest.TestResult()
  for test in tests:
    test_class(test).run(result)
  assert not result.errors, result.errors[0][1]
  return [text.splitlines()[-1] for _, text in result.failures]


class SoundTest(testing.ConformanceTest):
  """Without a fault, nothing of the below is said."""

  case = testing.Case(
      declare("test_sound"), [testing.Operand((4,)), testing.Operand((4,))]
  )


class FaultyOpsTest(parameterized.TestCase):

  @parameterized.parameters(
      (
          "wrong_value",
          testing.ValuesTest,
          "test_eager",
          r"under an eager call: the result is off by \S+ at \[\d, \d, \d\],"
          r" where \S+ is allowed: got " + _NUMBERS,
      ),
      (
          "wrong_gradient",
          testing.DerivativesTest,
          "test_vjp_calls_the_backward_handler",
          r"under vjp: the gradient of w is off by \S+ at \[\d\], .*: got "
          + _NUMBERS,
      ),
      (
          "wrong_at_ties",
          testing.DerivativesTest,
          "test_vjp_at_ties",
          r"under a vjp at small integers: the gradient of x is off by \S+ at"
          r" .*: got " + _NUMBERS,
      ),
      (
          "writes_operand",
          testing.MemoryTest,
          "test_operands_are_not_written",
          "x is not what it was before the call: a handler writes into its"
          " operand",
      ),
      (
          "writes_cotangent",
          testing.MemoryTest,
          "test_operands_of_the_backward_pass_are_not_written",
          "cotangent 0 is not what it was before the call",
      ),
      (
          "writes_cotangent",
          testing.MemoryTest,
          "test_residuals_are_not_written",
          "under a vjp function called twice: the gradients differ",
      ),
      (
          "skips_last_row",
          testing.ValuesTest,
          "test_jit",
          r"under jit: the result is off by \S+ at \[7, 5, \d\], .*;"
          " 4 of 192 elements are wrong",
      ),
      (
          "skips_empty_sum",
          testing.ValuesTest,
          "test_no_rows",
          r"under jit with loop dimensions \(0,\): the gradient of w is off",
      ),
      (
          "mixes_up_loops",
          testing.BatchingTest,
          "test_vmap_nested",
          r"under vmap with in_axes=\(.*\) inside vmap with in_axes=\(.*\): the"
          " result is off",
      ),
      (
          "mixes_up_cotangents",
          testing.BatchingTest,
          "test_vmap_of_gradient_with_some_cotangents",
          r"under vmap of vjp with in_axes=\[None\] of cotangents: the gradient"
          " of x is off",
      ),
      (
          "not_deterministic",
          testing.MemoryTest,
          "test_runs_again_to_the_same_bits",
          "under jit, run twice: result 0 differs",
      ),
  )
  def test_handler(self, name, suite, test, message):
    self.check(declare(f"test_{name}"), suite, test, message)

  @parameterized.parameters(
      (
          "wrong_vmap",
          ForwardPrimitive,
          "_batch",
          faulty_ops.reversing,
          testing.BatchingTest,
          "test_vmap_over_each_axis",
          r"under vmap with in_axes=\(0, None\): the result is off",
      ),
      (
          "copying_vmap",
          ForwardPrimitive,
          "_batch",
          faulty_ops.copying,
          testing.BatchingTest,
          "test_vmap_copies_nothing",
          r"under vmap with in_axes=\(0, None\): w was copied from 4 to 12"
          " elements",
      ),
      (
          "looping_vmap",
          ForwardPrimitive,
          "_batch",
          faulty_ops.looping,
          testing.BatchingTest,
          "test_vmap_over_each_axis",
          r"under vmap with in_axes=\(0, None\): there is a loop over the"
          " batch",
      ),
      (
          "missing_sum",
          BackwardCall,
          "loop_axes",
          faulty_ops.without_sums,
          testing.PartitioningTest,
          "test_partitioned_automatically",
          r"under vjp and jit, Auto mesh \(a=4\), loops over \('a', None\): the"
          " gradient of w is off",
      ),
      (
          "gathers",
          ForwardCall,
          "loop_axes",
          faulty_ops.whole,
          testing.PartitioningTest,
          "test_partitioned_automatically",
          r"under jit, Auto mesh \(a=4\), loops over \('a', None\): the result"
          " is split",
      ),
      (
          "computes_twice",
          ForwardPrimitive,
          "_jvp",
          faulty_ops.computing_again,
          testing.DerivativesTest,
          "test_vjp_calls_the_backward_handler",
          "under vjp: 2 calls of test_computes_twice_fwd, not 1",
      ),
  )
  def test_primitives(self, name, owner, method, faulty, suite, test, message):
    with faulty_ops.with_fault(owner, method, faulty):
      self.check(declare(f"test_{name}"), suite, test, message)

  def test_wrong_dtype(self):
    def op(x, w):
      return wrong(x, w).astype(jnp.bfloat16)

    wrong = declare("test_wrong_dtype")
    self.check(
        op,
        testing.ValuesTest,
        "test_eager",
        "wrong_dtype under an eager call: the result has dtype bfloat16,"
        " not float32",
    )

  def test_backward_handler_not_called(self):
    self.check(
        faulty_ops.declare_without_calling_backward("test_ignores_backward"),
        testing.DerivativesTest,
        "test_vjp_calls_the_backward_handler",
        "under vjp: 0 calls of test_ignores_backward_bwd, not 1",
    )

  def check(self, op, suite, test, message):
    failures = _failures(op, suite, test)
    self.assertLen(failures, 1)
    self.assertRegex(failures[0], message)


if __name__ == "__main__":
  absltest.main()
