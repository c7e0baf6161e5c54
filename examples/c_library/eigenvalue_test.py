# SPDX-License-Identifier: Apache-2.0
"""An eigenvalue: its definition is NumPy's, which knows no error bounds."""

from absl.testing import absltest
from eigenvalue import eigenvalue
import numpy as np

from jax_ffi_ops.kit import testing


def _definition(a):
  """Returns NumPy's eigenvalue, with a bound of the handler's error."""
  matrix = a.value.astype(np.float64)
  finite = np.isfinite(matrix).all((-2, -1))
  safe = np.where(finite[..., None, None], matrix, 0)
  value = np.linalg.eigvalsh(safe, UPLO="U")[..., -1]
  # By Weyl's inequality, an eigenvalue changes by no more than the matrix does.
  moved = np.sqrt(np.sum(a.error**2, (-2, -1)))
  # The handler computes in float64, and rounds to float32 once.
  own = 8 * np.finfo(np.float64).eps * np.sqrt(np.sum(safe**2, (-2, -1)))
  own += np.finfo(a.dtype).eps / 2 * np.abs(value) + np.finfo(a.dtype).tiny
  # NumPy refuses infinities and NaNs; the formula defines them.
  with np.errstate(invalid="ignore"):
    p, q, r = matrix[..., 0, 0], matrix[..., 0, 1], matrix[..., 1, 1]
    special = (p + r) / 2 + np.hypot((p - r) / 2, q)
  value = np.where(finite, value, special)
  return testing.Bounded(value, a.dtype, moved + own)


class EigenvalueTest(testing.OpTest):
  case = testing.Case(
      eigenvalue,
      [testing.Operand((2, 2))],
      definition=_definition,
  )


if __name__ == "__main__":
  absltest.main()
