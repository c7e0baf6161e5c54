# SPDX-License-Identifier: Apache-2.0
"""All families of primitives: importing it registers their rules."""

from jax_ffi_ops.kit.emit import control as control
from jax_ffi_ops.kit.emit import dynamic as dynamic
from jax_ffi_ops.kit.emit import elementwise as elementwise
from jax_ffi_ops.kit.emit import formulas as formulas
from jax_ffi_ops.kit.emit import linear_algebra as linear_algebra
from jax_ffi_ops.kit.emit import moves as moves
from jax_ffi_ops.kit.emit import reductions as reductions
from jax_ffi_ops.kit.emit.rules import names as names
