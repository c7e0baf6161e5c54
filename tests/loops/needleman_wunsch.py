# SPDX-License-Identifier: Apache-2.0
"""The best score of an alignment of two sequences, row by row."""

import pathlib

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit


def _needleman_wunsch(scores, gap):
  """Aligns m elements with n, whose pairs have scores [m, n]."""
  n = scores.shape[1]
  first = gap * jnp.arange(n + 1, dtype=scores.dtype)

  def row(above, scores):
    def cell(left, xs):
      diagonal, up, score = xs
      best = jnp.maximum(jnp.maximum(up, left) + gap, diagonal + score)
      return best, best

    begin = above[0] + gap
    _, cells = jax.lax.scan(cell, begin, (above[:-1], above[1:], scores))
    return jnp.concatenate([begin[None], cells]), None

  return jax.lax.scan(row, first, scores)[0][-1]


needleman_wunsch = kit.op(
    "needleman_wunsch",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libneedleman_wunsch_ext.so"),
        prefix="loops_",
    ),
    signature="(m,n),()->()",
    reference=_needleman_wunsch,
    outputs=("score",),
    dtypes=("float32",),
)
