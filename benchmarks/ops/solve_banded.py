# SPDX-License-Identifier: Apache-2.0
"""solve_banded, two diagonals on each side: SYSTEMSxEQUATIONSxRIGHT-HAND SIDES."""

import functools

import jax

from entry import Entry
from jax_ffi_ops import solve_banded
from jax_ffi_ops.doctor.speed_cases import banded_without_pivots
from operands import array
from operands import Operand

_L, _U = 2, 2


def _diagonals(key, shape):
  ab = jax.random.uniform(key, shape)
  return ab.at[:, _U].add(4)


def _operands(systems, n, k):
  return Operand((systems, _L + _U + 1, n), _diagonals), array(systems, n, k)


ENTRY = Entry(
    function=lambda ab, b: solve_banded((_L, _U), ab, b),
    operands=_operands,
    sizes=("16x16x1", "64x4096x1", "256x256x16", "4096x256x1"),
    dtypes=("float32", "float64"),
    # ab is five streams of b's size; b, x. Backward: ab, x, dx, dab, db.
    streams={"forward": 7, "backward": 13},
    peers={
        "no pivots, scan": functools.partial(banded_without_pivots, (_L, _U))
    },
)
