# SPDX-License-Identifier: Apache-2.0
"""Values: eager and compiled, for all kinds of operands and sizes."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.testing import checks
from jax_ffi_ops.kit.testing import transforms
from jax_ffi_ops.kit.testing.base import Base, copies
from jax_ffi_ops.kit.testing.case import LOOPS


class ValuesTest(Base):
  """The op is its definition, with every result written and no operand."""

  def test_eager(self):
    for shared in self.case.shared_sets():
      operands = self.case.arrays(shared=shared)
      row = f"an eager call{self._without_loops(shared)}"
      self.check_values(row, self.case, operands)

  def _without_loops(self, shared):
    names = [self.case.op.operands[i] for i in shared]
    return f" with {names[0]} without loop dimensions" if names else ""

  def test_without_loop_dimensions(self):
    operands = self.case.arrays(())
    self.check_values("a call without loop dimensions", self.case, operands)
    self.check_same("jit without loop dimensions", self.case, operands)

  def test_loop_dimensions_of_one(self):
    operands = self.case.arrays((1, 3, 1))
    self.check_same("jit with loop dimensions of 1", self.case, operands)

  def test_jit(self):
    for shared in self.case.shared_sets():
      operands = self.case.arrays(shared=shared)
      row = f"jit{self._without_loops(shared)}"
      self.check_same(row, self.case, operands)

  def test_nested_jit(self):
    self.check_same("nested jit", jax.jit(lambda *x: jax.jit(self.case)(*x)))

  def test_jax_arrays(self):
    operands = list(map(jnp.asarray, self.case.arrays()))
    self.check_values("an eager call with jax arrays", self.case, operands)

  def test_arrays_that_are_not_contiguous(self):
    operands = [np.asfortranarray(x) for x in self.case.arrays()]
    self.check_values("a call with Fortran-ordered arrays", self.case, operands)

  def test_python_scalars(self):
    operands = self.case.arrays(())
    scalars = [x.item() if x.ndim == 0 else x for x in operands]
    weak = [i for i, x in enumerate(scalars) if not hasattr(x, "dtype")]
    if not weak or any(
        jnp.result_type(scalars[i]) != operands[i].dtype for i in weak
    ):
      return  # A Python number would have another dtype than the case says.
    self.check_values(
        "a call with Python numbers", lambda *_: self.case(*scalars), operands
    )

  def test_no_rows(self):
    for loops in ((0,), (0, 6), (8, 0)):
      self.check_same(
          f"jit with loop dimensions {loops}",
          self.case,
          self.case.arrays(loops),
      )

  def test_with_and_without_x64(self):
    if self.case.is_wide:
      return  # There is no array of 64 bits without.
    with jax.enable_x64(True):
      self.check_same("jax_enable_x64", self.case)

  def test_strict_promotion(self):
    operands = self.case.arrays()
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
      results = jax.jit(self.case)(*operands)
      if self.has_derivatives:
        tangents = self.case.tangents(operands)
        results, _ = jax.jit(transforms.push_forward(self.case))(
            operands, tangents
        )
    self.check_values(
        "jax_numpy_dtype_promotion=strict", lambda *_: results, operands
    )

  def test_runs_again_to_the_same_bits(self):
    operands = list(map(jnp.asarray, self.case.arrays()))
    program = jax.jit(self.case)
    first = copies(program(*operands))
    for index in checks.same_bits(first, program(*operands)):
      if self.case.deterministic:
        self.fail_row("jit, run twice", f"result {index} differs")

  def test_operands_are_not_written(self):
    names = self.case.op.operands
    originals = self.case.arrays()
    operands = [jnp.array(x) for x in originals]
    jax.block_until_ready(self.case(*operands))
    self.check_unchanged("an eager call", names, originals, operands)
    jax.block_until_ready(jax.jit(self.case)(*operands))
    self.check_unchanged("jit", names, originals, operands)

  def test_residuals_and_cotangents_are_not_written(self):
    if not self.has_derivatives:
      return
    originals = self.case.arrays(LOOPS)
    operands = [jnp.array(x) for x in originals]
    cotangents = [jnp.array(x) for x in self.case.cotangents(originals)]
    kept = copies(cotangents)
    vjp = jax.jit(transforms.pull_back(self.case))
    jax.block_until_ready(vjp(operands, cotangents))
    row = "vjp"
    self.check_unchanged(row, self.case.op.operands, originals, operands)
    names = [f"cotangent {index}" for index in range(len(kept))]
    self.check_unchanged(row, names, kept, cotangents)
    avals = jax.tree.map(np.asarray, jax.vjp(self.case, *operands)[0])
    _, pull_back = jax.vjp(self.case, *operands)
    dense = transforms.real_tangents(avals, cotangents)
    first = copies(pull_back(dense))
    if checks.same_bits(first, copies(pull_back(dense))):
      self.fail_row(
          "a vjp function called twice",
          "the results differ: the backward handler writes into a residual,"
          " or is not deterministic",
      )

  def test_eval_shape_and_jaxpr(self):
    operands = self.case.arrays()
    row = "eval_shape"
    got = jax.eval_shape(self.case, *operands)
    want = self.case.avals(operands)
    if [(x.shape, x.dtype) for x in got] != [(x.shape, x.dtype) for x in want]:
      self.fail_row(row, f"{got}, not {want}")
    text = str(jax.make_jaxpr(self.case)(*operands))
    if self.case.op.name not in text or " at 0x" in text:
      self.fail_row("make_jaxpr", f"not for a person to read:\n{text}")
