# SPDX-License-Identifier: Apache-2.0
"""Runs a test whose C++ is built with a sanitizer.

  sanitize.py address|thread|undefined COMMAND ...

Python itself is not instrumented, so the runtimes of AddressSanitizer and
ThreadSanitizer have to be there before it: the one replaces malloc, the other
needs memory that threads get when they start. libstdc++ goes with them, or the
first C++ exception finds its interceptor unset.
"""

import os
import subprocess
import sys

_OPTIONS = {
    # Python and XLA keep memory until the process ends: no leak of ours. A test
    # replaces `new` and `delete` in its shared object, but not in libstdc++.
    "address": {
        "ASAN_OPTIONS": "detect_leaks=0:alloc_dealloc_mismatch=0",
        "PYTHONMALLOC": "malloc",
    },
    # XLA is not instrumented either: what it calls in the C library would be
    # taken for races, since how it avoids them is not seen.
    "thread": {
        "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:halt_on_error=1"
    },
    "undefined": {"UBSAN_OPTIONS": "print_stacktrace=1"},
}
_PRELOADED = {
    "address": ("libasan.so", "libstdc++.so"),
    "thread": ("libtsan.so", "libstdc++.so"),
}


def _compiler_library(name):
  command = ["g++", "-print-file-name=" + name]
  path = subprocess.check_output(command, text=True).strip()
  if not os.path.isabs(path):
    sys.exit(f"sanitize: g++ has no {name}.")
  return path


def main():
  sanitizer, *command = sys.argv[1:]
  if sanitizer not in _OPTIONS:
    sys.exit(f"sanitize: {sanitizer!r} is none of {', '.join(_OPTIONS)}.")
  os.environ.update(_OPTIONS[sanitizer], SANITIZER=sanitizer)
  if libraries := _PRELOADED.get(sanitizer):
    os.environ["LD_PRELOAD"] = " ".join(map(_compiler_library, libraries))
  os.execv(command[0], command)


if __name__ == "__main__":
  main()
