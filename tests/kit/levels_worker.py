# SPDX-License-Identifier: Apache-2.0
"""What levels_test.py asks processes of each level."""

import os

from jax_ffi_ops.doctor import isolated
from jax_ffi_ops.kit import cpu


def level(ends: bool) -> tuple[int, int]:
  """Returns the level and the number of this process, or ends it."""
  if ends:
    os._exit(3)
  return cpu.cpu_level(), os.getpid()


if __name__ == "__main__":
  isolated.tell(isolated.answers(level))
