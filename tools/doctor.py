# SPDX-License-Identifier: Apache-2.0
"""Tells what works in a library of FFI handlers, and why other things do not.

bazel run @xla_ffi_ops//tools:doctor -- LIBRARY.so ...
"""

import os
import sys

from jax_ffi_ops.doctor import command

if __name__ == "__main__":
  os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
  sys.exit(command.main())
