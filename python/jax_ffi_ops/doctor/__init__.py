# SPDX-License-Identifier: Apache-2.0
"""Whether this installation works, and how fast: `python -m jax_ffi_ops.doctor`."""
