# SPDX-License-Identifier: Apache-2.0
"""Cases of functions that put all elements in an order."""

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing.case import ours
from jax_ffi_ops.timing.case import Timed
from jax_ffi_ops.timing.operands import Array
from jax_ffi_ops.timing.operands import array
from jax_ffi_ops.timing.operands import indices

# Small ones first; many short rows, long ones, and one row.
ROWS = dict(
    sizes=(
        "8x4",
        "4096x256",
        "16x65536",
        "1x100000",
        "1x1048576",
        "1x16777216",
    ),
    typical="1x1048576",
)
_KEYS = 1000  # so many different ones


def _by_two_keys(sort):
  return lambda *arrays: sort(arrays, num_keys=2)


def _draw_key(key, shape):
  return jax.random.bits(key, shape)


CASES = {
    "argsort": Timed(
        ours("argsort"),
        {"jax.numpy": jnp.argsort},
        **ROWS,
    ),
    "lax_sort": Timed(  # by two keys, and their indices with them
        _by_two_keys(ours("lax_sort")),
        {"jax.lax": _by_two_keys(jax.lax.sort)},
        operands=lambda rows, cols: (
            indices(_KEYS, rows, cols),
            array(rows, cols),
            indices(cols, rows, cols),
        ),
        **ROWS | {"typical": "4096x256"},
        streams={"forward": 6},  # all, and all sorted
    ),
    "permutation": Timed(
        ours("permutation"),
        {"jax.random": jax.random.permutation},
        operands=lambda n: (Array((2,), _draw_key, "uint32"), array(n)),
        sizes=("1000", "1048576"),
    ),
    "sort": Timed(
        ours("sort"),
        {"jax.numpy": jnp.sort},
        **ROWS,
    ),
    "sort_key_val": Timed(
        ours("sort_key_val"),
        {"jax.lax": jax.lax.sort_key_val},
        operands=lambda rows, cols: (
            array(rows, cols),
            indices(cols, rows, cols),
        ),
        **ROWS,
        streams={"forward": 4},  # both, and both sorted
    ),
    "unique": Timed(
        ours("unique"),
        {"jax.numpy": jnp.unique},
        operands=lambda n: (indices(_KEYS, n)._replace(dtype=None),),
        sizes=("100000", "1048576", "16777216"),
        typical="1048576",
        attributes=lambda n: dict(
            size=_KEYS, return_inverse=True, return_counts=True
        ),
        dtypes=("int32", "float32"),
        streams={"forward": 2},  # x; as many indices
    ),
}
