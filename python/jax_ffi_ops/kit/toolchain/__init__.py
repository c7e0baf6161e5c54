# SPDX-License-Identifier: Apache-2.0
"""From C++ text to a shared object while a program runs, and what is kept."""

from jax_ffi_ops.kit import cpu
from jax_ffi_ops.kit.toolchain.building import is_off as is_off
from jax_ffi_ops.kit.toolchain.building import shared_object as shared_object
from jax_ffi_ops.kit.toolchain.failures import Failed as Failed
from jax_ffi_ops.kit.toolchain.failures import Unavailable as Unavailable

level = cpu.cpu_level
