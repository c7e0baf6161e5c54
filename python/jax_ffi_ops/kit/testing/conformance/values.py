# SPDX-License-Identifier: Apache-2.0
"""Values: eager and compiled, for all kinds of operands and sizes."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.conformance.base import Base

# Calls of one program, with other values each.
_SEEDS = {"": 0, " again, with other values": 30}


class ValuesTest(Base):
  """The op has the values of its definition, and every result is written."""

  def test_eager(self):
    for shared in self.case.shared_sets():
      row = f"an eager call{self._without_loops(shared)}"
      for again, seed in _SEEDS.items():
        operands = self.case.arrays(shared=shared, seed=seed)
        self.check_values(row + again, self.case, operands)

  def test_jit(self):
    for shared in self.case.shared_sets():
      row = f"jit{self._without_loops(shared)}"
      operands = self.case.arrays(shared=shared)
      program = self.check_same(row, self.case, operands)
      for again, seed in _SEEDS.items():
        others = self.case.arrays(shared=shared, seed=seed)
        self.check_program(row + again, program, others)

  def _without_loops(self, shared):
    names = [self.case.op.operands[i] for i in shared]
    return f" with {names[0]} without loop dimensions" if names else ""

  def test_nested_jit(self):
    self.check_same("nested jit", jax.jit(lambda *x: jax.jit(self.case)(*x)))

  def test_without_loop_dimensions(self):
    operands = self.case.arrays(())
    self.check_values("a call without loop dimensions", self.case, operands)
    self.check_same("jit without loop dimensions", self.case, operands)

  def test_loop_dimensions_of_one(self):
    operands = self.case.arrays((1, 3, 1))
    self.check_same("jit with loop dimensions (1, 3, 1)", self.case, operands)

  def test_no_rows(self):
    for loops in ((0,), (0, 6), (8, 0)):
      row = f"jit with loop dimensions {loops}"
      self.check_same(row, self.case, self.case.arrays(loops))

  def test_jax_arrays(self):
    operands = list(map(jnp.asarray, self.case.arrays()))
    self.check_values("an eager call with jax arrays", self.case, operands)

  def test_arrays_that_are_not_contiguous(self):
    operands = [np.asfortranarray(x) for x in self.case.arrays()]
    self.check_values("a call with Fortran-ordered arrays", self.case, operands)

  def test_python_scalars(self):
    """Where Python's numbers have the dtypes of the case."""
    operands = self.case.arrays(())
    scalars = [
        x.item() if x.ndim == 0 and jnp.result_type(x.item()) == x.dtype else x
        for x in operands
    ]
    self.compare_values(
        "a call with Python numbers", self.case(*scalars), operands
    )

  def test_enable_x64(self):
    with jax.enable_x64(True):
      self.check_same("jax_enable_x64", self.case)

  def test_strict_promotion(self):
    operands = self.case.arrays()
    program = jax.jit(self.case)
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
      results = program(*operands)
      if self.has_derivatives:
        args = (operands, self.case.tangents(operands))
        results, _ = jax.jit(transforms.jvp(self.case))(*args)
    row = "jax_numpy_dtype_promotion=strict"
    self.compare_values(row, results, operands)

  def test_eval_shape(self):
    operands = self.case.arrays()
    got, want = (
        [(x.shape, x.dtype) for x in avals]
        for avals in (
            jax.eval_shape(self.case, *operands),
            self.case.avals(operands),
        )
    )
    if got != want:
      self.fail_row("eval_shape", f"{got}, not {want}")

  def test_jaxpr(self):
    text = str(jax.make_jaxpr(self.case)(*self.case.arrays()))
    if self.case.op.name not in text or " at 0x" in text:
      self.fail_row("make_jaxpr", f"not for a person to read:\n{text}")
