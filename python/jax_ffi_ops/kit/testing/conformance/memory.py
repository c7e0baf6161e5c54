# SPDX-License-Identifier: Apache-2.0
"""What handlers leave in memory: their results and nothing else."""

import dataclasses

import jax
import jax.numpy as jnp

from jax_ffi_ops.kit.testing.cases import choices
from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.conformance.base import Base
from jax_ffi_ops.kit.testing.conformance.base import copies
from jax_ffi_ops.kit.testing.exactness import checks


class MemoryTest(Base):
  """Operands are not written, and the same call has the same bits."""

  def test_runs_again_to_the_same_bits(self):
    if not self.case.deterministic:
      return
    operands = list(map(jnp.asarray, self.case.arrays()))
    program = jax.jit(self.case)
    first = copies(program(*operands))
    for index in checks.different(first, program(*operands)):
      self.fail_row("jit, run twice", f"result {index} differs")

  def test_operands_are_not_written(self):
    originals = self.case.arrays()
    for row, function in (("an eager call", self.case),
                          ("jit", jax.jit(self.case))):  # fmt: skip
      operands = [jnp.array(x) for x in originals]
      jax.block_until_ready(function(*operands))
      self._check_unchanged(row, self.case.op.operands, originals, operands)

  def test_operands_of_the_backward_pass_are_not_written(self):
    if not self.has_derivatives:
      return
    originals = self.case.arrays()
    operands = [jnp.array(x) for x in originals]
    kept = self.case.cotangents(originals)
    cotangents = [jnp.array(x) for x in kept]
    vjp = jax.jit(transforms.vjp(self.case))
    jax.block_until_ready(vjp(operands, cotangents))
    self._check_unchanged("vjp", self.case.op.operands, originals, operands)
    names = [f"cotangent {index}" for index in range(len(kept))]
    self._check_unchanged("vjp", names, kept, cotangents)

  def test_residuals_are_not_written(self):
    if not self.has_derivatives:
      return
    operands = [jnp.array(x) for x in self.case.arrays()]
    results, vjp = jax.vjp(self.case, *operands)
    # Arrays of JAX: one of NumPy would be copied by each call.
    cotangents = [jnp.array(x) for x in self.case.cotangents(operands)]
    cotangents = transforms.real_tangents(results, cotangents)
    first = copies(vjp(cotangents))
    if checks.different(first, copies(vjp(cotangents))):
      self.fail_row(
          "a vjp function called twice",
          "the gradients differ: the backward handler writes into a residual,"
          " or is not deterministic",
      )

  def test_in_place_has_the_same_bits(self):
    if not self.case.op.buffers.in_place:
      return
    for case in choices.mixed_dtypes(self.case):
      in_place = dataclasses.replace(
          case, attributes={**case.attributes, "in_place": True}
      )
      with jax.enable_x64(case.is_wide):
        operands = [jnp.array(x) for x in case.arrays()]
        expected = copies(jax.jit(case)(*operands))
        indices = tuple(range(len(operands)))
        found = jax.jit(in_place, donate_argnums=indices)(*operands)
      for index in checks.different(expected, found):
        self.fail_row(
            f"jit with in_place and {choices.label(case)}",
            f"result {index} differs: the handler reads an operand after it has"
            " written over it",
        )

  def _check_unchanged(self, row, names, before, after):
    for index in checks.different(before, after):
      self.fail_row(
          row,
          f"{names[index]} is not what it was before the call: a handler writes"
          " into its operand",
      )
