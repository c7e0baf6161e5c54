# SPDX-License-Identifier: Apache-2.0
"""The cases of all functions, by name: a file for each family."""

from jax_ffi_ops.timing.case import Timed
from jax_ffi_ops.timing.cases import filters
from jax_ffi_ops.timing.cases import matrices
from jax_ffi_ops.timing.cases import norms
from jax_ffi_ops.timing.cases import recurrences
from jax_ffi_ops.timing.cases import scans
from jax_ffi_ops.timing.cases import selections
from jax_ffi_ops.timing.cases import sorts
from jax_ffi_ops.timing.cases import systems

_FAMILIES = (
    filters,
    matrices,
    norms,
    recurrences,
    scans,
    selections,
    sorts,
    systems,
)
CASES: dict[str, Timed] = dict(
    sorted(pair for family in _FAMILIES for pair in family.CASES.items())
)
