# SPDX-License-Identifier: Apache-2.0
"""Cases of linear algebra, in matrices x rows."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import jax_ffi_ops
from jax_ffi_ops.timing.case import Timed
from jax_ffi_ops.timing.operands import Array
from jax_ffi_ops.timing.operands import array

_MATRICES = dict(
    sizes=("100x3", "10000x3", "10000x4", "10000x8", "10000x16", "1000x32"),
    typical="10000x4",
    dtypes=("float32", "float64"),
)


def _draw_definite(key, shape):
  """Symmetric matrices with eigenvalues from 1 on."""
  a = jax.random.normal(key, shape)
  n = shape[-1]
  return a @ a.mT / n + jnp.eye(n)


def _definite(matrices, n):
  return (Array((matrices, n, n), _draw_definite),)


def _systems(matrices, n):
  return *_definite(matrices, n), array(matrices, n, 1)


def _of(name: str) -> Callable[..., Any]:
  """Returns the function of linalg, which loads when it is called."""
  return lambda *arrays: getattr(jax_ffi_ops.linalg, name)(*arrays)


def _sizes_of(function):
  """Returns a function whose results have no signs: those of vectors vary."""
  return lambda *arrays: jax.tree.map(jnp.abs, tuple(function(*arrays)))


def _case(name, same=lambda function: function, **others):
  return Timed(
      same(_of(name)),
      {"jax.numpy.linalg": same(getattr(jnp.linalg, name))},
      **{"operands": _definite, **_MATRICES, **others},
  )


CASES = {
    "linalg.cholesky": _case("cholesky", streams={"forward": 2, "backward": 3}),
    # a, w and v; and backward: w, v, dw, dv and da.
    "linalg.eigh": _case(
        "eigh", _sizes_of, streams={"forward": 2, "backward": 3}
    ),
    "linalg.inv": _case("inv", streams={"forward": 2, "backward": 3}),
    "linalg.qr": _case("qr", streams={"forward": 3, "backward": 5}),
    "linalg.solve": _case(
        "solve", operands=_systems, streams={"forward": 2, "backward": 3}
    ),
    "linalg.svd": _case(
        "svd", _sizes_of, streams={"forward": 3, "backward": 5}
    ),
}
