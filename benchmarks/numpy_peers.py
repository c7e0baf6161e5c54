# SPDX-License-Identifier: Apache-2.0
"""Peers that work on arrays of NumPy: its own functions and SciPy's."""

import functools

import numpy as np
from scipy import special

from jax_ffi_ops.timing.cases import selections
import variants


def make(name, function, direction, sets) -> variants.Variant | None:
  """Returns the variant, of a forward pass: they have no gradients."""
  del name
  operands = [np.asarray(x) for x in sets[0][0]]
  # They compute float16 and bfloat16 one by one.
  if direction != "forward" or any(x.itemsize == 2 for x in operands):
    return None
  call = functools.partial(function, *operands)
  wait = lambda _: None

  def results():
    found = call()
    return found if isinstance(found, tuple) else (found,)

  return variants.of_host(results, call, wait)


def _normalized(x, eps):
  squares = np.einsum("ij,ij->i", x, x)[:, None]
  return x / np.sqrt(squares / x.shape[-1] + eps)


def _add_rms_norm(x, residual, scale, *, eps):
  sums = x + residual
  return _normalized(sums, eps) * scale, sums


def _layer_norm(x, scale, bias, *, eps):
  return _normalized(x - x.mean(-1, keepdims=True), eps) * scale + bias


def _softmax(x):
  powers = np.exp(x - x.max(-1, keepdims=True))
  return powers / powers.sum(-1, keepdims=True)


def _nonzero(a, *, size):
  indices = np.zeros(size, np.int64)
  found = np.flatnonzero(a)
  indices[: len(found)] = found
  return indices


def _taken(order, *arrays):
  return tuple(np.take_along_axis(x, order, -1) for x in arrays)


# By library and op.
LIBRARIES = {
    "numpy": {
        "add_rms_norm": _add_rms_norm,
        "argmax": np.argmax,
        "argpartition": selections.at_middle_place(np, np.argpartition),
        "argsort": np.argsort,
        "cumlogsumexp": np.logaddexp.accumulate,
        "cummax": np.maximum.accumulate,
        "cummin": np.minimum.accumulate,
        "cumprod": np.cumprod,
        "cumsum": np.cumsum,
        "histogram": np.histogram,
        "lax_sort": lambda first, second, values: _taken(
            np.lexsort((second, first)), first, second, values
        ),
        "layer_norm": _layer_norm,
        "median": np.median,
        "nonzero": _nonzero,
        "partition": selections.at_middle(np.partition),
        "rms_norm": lambda x, scale, *, eps: _normalized(x, eps) * scale,
        "softmax": _softmax,
        "sort": np.sort,
        "sort_key_val": lambda keys, values: _taken(
            np.argsort(keys, stable=True), keys, values
        ),
        "unique": lambda x, size, **options: np.unique(x, **options),
    },
    "scipy": {"softmax": functools.partial(special.softmax, axis=-1)},
}
