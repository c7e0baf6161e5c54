# SPDX-License-Identifier: Apache-2.0
"""Peers of the ops that scan."""

from collections.abc import Callable
import functools
from typing import Any

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing.case import Timed
from jax_ffi_ops.timing.cases import CASES


def _blocks(scan, combine, x, *, axis):
  """Scans blocks of 128, and then their totals."""
  rows, cols = x.shape
  if cols % 128:
    return scan(x, axis)
  inner = scan(x.reshape(rows, -1, 128), 2)
  ends = scan(inner[:, :, -1], 1)
  rest = combine(ends[:, :-1, None], inner[:, 1:])
  return jnp.concatenate([inner[:, :1], rest], 1).reshape(rows, cols)


def beside(
    name: str,
    combine: Callable[..., jax.Array],
    libraries: dict[str, Callable[..., Any]],
) -> Timed:
  """Returns the case of an op along the last axis, with its peers."""
  scan = getattr(jax.lax, name)
  peers = {
      "jax.lax, blocks": functools.partial(_blocks, scan, combine),
      "associative_scan": functools.partial(jax.lax.associative_scan, combine),
  }
  return CASES[name].beside(peers, libraries)
