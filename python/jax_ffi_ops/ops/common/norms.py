# SPDX-License-Identifier: Apache-2.0
"""What norms have in common."""

from jax_ffi_ops.kit.declare.groups import Operand

# One element for each element of a row of x; its gradient is a sum over rows.
WEIGHT = Operand(parameter=True, weight_of="x", row_sums=True)
