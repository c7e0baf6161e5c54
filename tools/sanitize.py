# SPDX-License-Identifier: Apache-2.0
"""Runs a Python test whose shared objects are built with a sanitizer.

  sanitize.py address|undefined COMMAND ...

Python itself is not instrumented, so the runtime of AddressSanitizer has to be
there before it: it replaces malloc. libstdc++ goes with it, or the first C++
exception finds its interceptor unset. Python and XLA keep memory until the
process ends, which is no leak of ours.
"""

import os
import subprocess
import sys


def _compiler_library(name):
  command = ["g++", "-print-file-name=" + name]
  path = subprocess.check_output(command, text=True).strip()
  if not os.path.isabs(path):
    sys.exit(f"sanitize: g++ has no {name}.")
  return path


def main():
  sanitizer, *command = sys.argv[1:]
  if sanitizer == "address":
    os.environ["LD_PRELOAD"] = " ".join(
        map(_compiler_library, ("libasan.so", "libstdc++.so"))
    )
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
    os.environ["PYTHONMALLOC"] = "malloc"
  elif sanitizer == "undefined":
    os.environ["UBSAN_OPTIONS"] = "print_stacktrace=1"
  else:
    sys.exit(f"sanitize: {sanitizer!r} is neither address nor undefined.")
  os.environ["SANITIZER"] = sanitizer
  os.execv(command[0], command)


if __name__ == "__main__":
  main()
