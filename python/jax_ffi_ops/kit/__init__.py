# SPDX-License-Identifier: Apache-2.0
"""The authoring kit: from a shared object of FFI handlers to JAX ops."""

from jax_ffi_ops.kit.library import Library as Library
