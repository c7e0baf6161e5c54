# SPDX-License-Identifier: Apache-2.0
"""For a type checker: each line with a comment is an error, of that code."""

import jax

import jax_ffi_ops
from jax_ffi_ops import kit
from jax_ffi_ops import rms_norm

x: jax.Array = jax.numpy.ones(4)
rms_norm("x")  # arg-type
rms_norm(x, epsilon=1.0)  # call-arg
jax_ffi_ops.rms_nrom(x)  # attr-defined
kit.op("typed", library="lib.so", signature="()->()")  # arg-type
number: int = rms_norm(x)  # assignment
