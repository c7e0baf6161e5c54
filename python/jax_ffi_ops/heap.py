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
  """Has glibc keep the memory of freed arrays in this process, for later ones.

  By default, glibc asks the system for each array above 32 MiB, and every page
  of it costs a page fault. With this, later arrays find pages that are there.

  Call it before jax computes anything: threads of XLA that have allocated
  memory keep heaps of their own. It is for all code in the process. The process
  then keeps as much memory as it has ever used at once, and more at the start;
  docs/performance.md has numbers, how to give the memory back, and an
  environment variable that helps without keeping any.

  Returns:
    Whether the C library took the settings. Without glibc, and with a
    sanitizer's memory, it is False, and nothing has changed.
  """
  try:
    mallopt = ctypes.CDLL(None).mallopt
  except AttributeError:
    return False
  return all([mallopt(*setting) for setting in _SETTINGS.items()])
