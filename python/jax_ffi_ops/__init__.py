# SPDX-License-Identifier: Apache-2.0
"""JAX ops with handlers in C++ and CUDA."""

from jax_ffi_ops.rms_norm import rms_norm as rms_norm
