# SPDX-License-Identifier: Apache-2.0
"""Runs the Python interpreter with jax_ffi_ops and its dependencies importable.

bazel run //python:python -- SCRIPT ARGS
bazel run //python:kit -- SCRIPT ARGS     without the ops
"""

import os
import sys

if __name__ == "__main__":
  os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
  # The first entry is this file's folder, which the script would not have.
  os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[1:])
  # Large results then cost less, and no memory is kept: docs/performance.md.
  os.environ.setdefault("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
  os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
