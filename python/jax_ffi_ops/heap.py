# SPDX-License-Identifier: Apache-2.0
"""What becomes of the memory of freed arrays."""

import ctypes

# Parameters of glibc's mallopt, and what they are set to. M_MMAP_THRESHOLD is
# not among them: up to glibc 2.34 it cannot be above 32 MiB.
_SETTINGS = {
    -4: 0,  # M_MMAP_MAX: large blocks come from the heap, too.
    -1: -1,  # M_TRIM_THRESHOLD: what is freed at its end is not given back.
    # M_ARENA_MAX: XLA's threads use the same heap. Those that they would have
    # of their own have room for 64 MiB.
    -8: 1,
}


def keep_freed_memory() -> bool:
  """Makes glibc keep the memory of freed arrays, for later arrays.

  By default, glibc gets each array of 32 MiB or more from the system, and every
  page of it costs a page fault. With this, later arrays use existing pages.

  Call it before jax computes anything: threads of XLA that have allocated
  memory keep their own heaps. It affects all code in the process. The process
  then keeps as much memory as it has ever used at once, and more at the start.
  docs/performance.md says more, and has an environment variable that helps
  without keeping memory.

  Returns:
    Whether the C library accepted the settings. Without glibc, or with a
    sanitizer, it is False, and nothing has changed.
  """
  try:
    mallopt = ctypes.CDLL(None).mallopt
  except AttributeError:
    return False
  return all([mallopt(*setting) for setting in _SETTINGS.items()])
