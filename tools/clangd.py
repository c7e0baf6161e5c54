# SPDX-License-Identifier: Apache-2.0
"""Runs the locked clangd in the workspace, on compile_commands.json there.

  bazel run //tools:clangd -- --check=FILE --check-locations=0

That says what clangd finds in one file, without its trial of every refactoring.
"""

import os
import pathlib
import sys

if __name__ == "__main__":
  program = pathlib.Path.cwd().parent / sys.argv[1]
  os.chdir(os.environ["BUILD_WORKSPACE_DIRECTORY"])
  os.execv(program, [str(program), *sys.argv[2:]])
