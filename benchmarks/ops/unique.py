# SPDX-License-Identifier: Apache-2.0
"""unique of a vector of a thousand values, with inverse and counts."""

from jax_ffi_ops.timing.cases import CASES

CASE = CASES["unique"].beside(
    libraries={
        "torch": lambda nn, x, size, **options: nn.torch.unique(x, **options),
        "numpy": lambda np, x, size, **options: np.unique(x, **options),
    },
)
