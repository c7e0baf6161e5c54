# SPDX-License-Identifier: Apache-2.0
"""Runs the doctor: `python -m jax_ffi_ops.doctor`."""

import sys

from jax_ffi_ops.doctor import command

if __name__ == "__main__":
  sys.exit(command.main())
