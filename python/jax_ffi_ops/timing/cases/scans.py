# SPDX-License-Identifier: Apache-2.0
"""Cases of running sums and their like, along the last axis."""

import jax

from jax_ffi_ops.timing.case import ours
from jax_ffi_ops.timing.case import Timed


def _case(name):
  return Timed(
      ours(name),
      {"jax.lax": getattr(jax.lax, name)},
      sizes=("8x64", "128x512", "2048x2048", "32x131072", "1x4194304"),
      gpu_sizes=("4096x4096", "1x16777216"),
      typical="2048x2048",
      attributes=lambda rows, cols: {"axis": 1},
  )


_NAMES = "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"
CASES = {name: _case(name) for name in _NAMES}
