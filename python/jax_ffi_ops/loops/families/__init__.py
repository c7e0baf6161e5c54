# SPDX-License-Identifier: Apache-2.0
"""All families of primitives: importing it registers their rules."""

from jax_ffi_ops.loops import complex_formulas
from jax_ffi_ops.loops import rules
from jax_ffi_ops.loops.families import control as control
from jax_ffi_ops.loops.families import dynamic as dynamic
from jax_ffi_ops.loops.families import elementwise as elementwise
from jax_ffi_ops.loops.families import formulas as formulas
from jax_ffi_ops.loops.families import linear_algebra as linear_algebra
from jax_ffi_ops.loops.families import moves as moves
from jax_ffi_ops.loops.families import reductions as reductions


def names() -> list[str]:
  """Returns the primitives that can be compiled."""
  return sorted({*rules.names(), *complex_formulas.names()})
