# SPDX-License-Identifier: Apache-2.0
"""Which function of jax or SciPy each of our functions takes the place of."""

from collections.abc import Callable, Mapping
import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.ndimage
from scipy import linalg
from scipy import ndimage
from scipy import signal

import jax_ffi_ops
import jax_ffi_ops.linalg

NAMESAKES: Mapping[str, Callable[..., Any]] = {
    "lax_sort": jax.lax.sort,
    "map_coordinates": jax.scipy.ndimage.map_coordinates,
    "permutation": jax.random.permutation,
    "softmax": jax.nn.softmax,
    "solve_banded": linalg.solve_banded,
    "tridiagonal_solve": jax.lax.linalg.tridiagonal_solve,
} | {
    name: getattr(module, name)
    for module, names in (
        (
            jnp,
            "argmax argmin argpartition argsort histogram histogram2d median"
            " nanmedian nanpercentile nanquantile nonzero partition percentile"
            " quantile sort unique",
        ),
        (
            jax.lax,
            "cumlogsumexp cummax cummin cumprod cumsum sort_key_val top_k",
        ),
        (ndimage, "spline_filter spline_filter1d"),
        (signal, "lfilter sosfilt"),
    )
    for name in names.split()
}

# Those of jax_ffi_ops.linalg.
LINALG: Mapping[str, Callable[..., Any]] = {
    name: getattr(jnp.linalg, name, None) or getattr(jax.scipy.linalg, name)
    for name, function in vars(jax_ffi_ops.linalg).items()
    if callable(function)
}

# Neither jax nor SciPy has a function that computes the same.
ALONE = frozenset((
    "add_rms_norm",
    "discounted_returns",
    "ema",
    "gae",
    "layer_norm",
    "linear_recurrence",
    "rms_norm",
))  # fmt: skip


def is_scipys(name: str) -> bool:
  """Returns whether a function takes the place of one of SciPy."""
  return getattr(NAMESAKES.get(name), "__module__", "").startswith("scipy.")


def public_names() -> list[str]:
  """Returns the names of all functions: ops, and what is composed of them."""
  package = pathlib.Path(jax_ffi_ops.__file__).parent
  return sorted(
      file.stem
      for folder in ("ops", "composed")
      for file in (package / folder).glob("[!_]*.py")
  )
