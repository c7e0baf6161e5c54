# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of ops that scan have in common."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from entry import Entry
from operands import array


def _blocks(scan, combine, x):
  """Scans blocks of 128, and then their totals."""
  rows, cols = x.shape
  if cols % 128:
    return scan(x, 1)
  inner = scan(x.reshape(rows, -1, 128), 2)
  ends = scan(inner[:, :, -1], 1)
  rest = combine(ends[:, :-1, None], inner[:, 1:])
  return jnp.concatenate([inner[:, :1], rest], 1).reshape(rows, cols)


def entry(
    function: Callable[..., jax.Array],
    combine: Callable[..., jax.Array],
    libraries: dict[str, Callable[..., Any]],
) -> Entry:
  """Returns the entry of an op along the last axis."""
  scan = getattr(jax.lax, function.__name__)
  return Entry(
      function=lambda x, **options: function(x, 1, **options),
      operands=lambda rows, cols: (array(rows, cols),),
      sizes=("8x64", "128x512", "2048x2048", "32x131072", "1x4194304"),
      streams={"forward": 2},  # x, y
      peers={
          "jax.lax": lambda x: scan(x, 1),
          "jax.lax, blocks": lambda x: _blocks(scan, combine, x),
          "associative_scan": lambda x: jax.lax.associative_scan(
              combine, x, axis=1
          ),
      },
      libraries=libraries,
  )
