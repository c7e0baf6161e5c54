# SPDX-License-Identifier: Apache-2.0
"""All dtypes and choices of optional operands, as callers mix them."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.kit.testing.cases import choices
from jax_ffi_ops.kit.testing.conformance.base import Base
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH


class DTypesTest(Base):
  """Values and gradients are the definition's, and have the caller's dtypes."""

  def test_every_choice_of_operands(self):
    cases = choices.presences(self.case)
    for case in cases if THOROUGH else choices.extremes(cases):
      self._check_case(case)

  def test_every_dtype(self):
    for case in choices.mixed_dtypes(self.case):
      self._check_case(case)

  def _check_case(self, case):
    self.case = case
    # Multiples of 1/8, whose sums are no rounded ones in any dtype: a definition
    # in float64 has no such roundings in the middle.
    operands = [
        (np.round(x.astype(np.float64) * 8) / 8).astype(x.dtype)
        if jnp.issubdtype(x.dtype, jnp.floating)
        else x
        for x in case.arrays()
    ]
    with jax.enable_x64(case.is_wide):
      self.check_same(f"jit with {choices.label(case)}", case, operands)
