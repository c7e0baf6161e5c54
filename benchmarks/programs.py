# SPDX-License-Identifier: Apache-2.0
"""How many calls a program for a GPU makes, and with how many sets of arrays."""

import math

# Three times the largest L2 of the GPUs that are meant (60 MB): what a call
# reads was written so long ago that it is in the memory alone.
_ROTATED_BYTES = 180_000_000
# Calls that move less follow each other in the L2, as in a model.
_SMALL_BYTES = 3_000_000

# A program takes at least as long: less would be the host's time.
_SECONDS = 2e-3
_MOST_CALLS = 500  # Small ones; more take long to compile.
_FASTEST = 8e12  # Bytes per second, of any GPU's memory.


def calls(call_bytes: float) -> int:
  """Returns how many calls take as long as can be measured."""
  return min(_MOST_CALLS, math.ceil(_SECONDS * _FASTEST / max(call_bytes, 1)))


def sets(call_bytes: float) -> int:
  """Returns how many sets of arrays the calls take turns with."""
  if call_bytes <= _SMALL_BYTES:
    return 1
  return max(2, math.ceil(_ROTATED_BYTES / call_bytes))
