# SPDX-License-Identifier: Apache-2.0
"""For pytest, where all tests share a process: the devices that some need."""

from jax_ffi_ops.kit.testing import devices

devices.force()
