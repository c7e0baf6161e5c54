# SPDX-License-Identifier: Apache-2.0
"""What norms and softmax have in common."""

from collections.abc import Mapping

from jax_ffi_ops.kit.declare.groups import Choice
from jax_ffi_ops.kit.declare.groups import Operand
from jax_ffi_ops.kit.faster import faster_for_rows
from jax_ffi_ops.kit.faster import Least

# The default of `eps`: what keeps a row of zeros from a division by zero.
EPS = 1e-6

# One element for each element of a row of x; its gradient is a sum over rows.
WEIGHT = Operand(parameter=True, weight_of="x", row_sums=True)

# Measured in a loop in a program, on one thread; `shared` with two threads.
_FORWARD = Least(2**18, cols=512, shared=2**16, sizes={
    (3, "bfloat16"): 2**14, (3, "float16"): 2**14,
    (4, "bfloat16"): 2**14, (4, "float16"): 2**14,
})  # fmt: skip
_BACKWARD = Least(2**12, cols=256)


def choice(sizes: Mapping[tuple[int, str], int] = {}) -> Choice:
  """Returns when the handlers run; `sizes` replaces some of the defaults."""
  forward = _FORWARD._replace(sizes={**_FORWARD.sizes, **sizes})
  return Choice(is_faster=faster_for_rows(forward, _BACKWARD))
