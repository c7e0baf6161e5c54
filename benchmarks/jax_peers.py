# SPDX-License-Identifier: Apache-2.0
"""Peers in jax: other forms of what the cases compare ops with."""

from collections.abc import Callable, Mapping
import functools
import importlib

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing.cases import filters
from jax_ffi_ops.timing.cases.norms import wide
from jax_ffi_ops.timing.cases.recurrences import ALPHA
from jax_ffi_ops.timing.cases.recurrences import combine
from jax_ffi_ops.timing.cases.recurrences import LAMBDA

_PALLAS = "jax.experimental.pallas.ops.gpu"
# Its softmax has a row in a block. Triton takes minutes to compile larger ones.
_MOST_COLUMNS = 2**14


def pallas(name: str, interpret: bool = False) -> Mapping[str, Callable]:
  """Returns an example of Pallas, if this jax has it and there is a GPU.

  Args:
    name: of the module, and of its function.
    interpret: whether to run it without a GPU, slowly.
  """
  if not interpret and jax.default_backend() != "gpu":
    return {}
  try:
    module = importlib.import_module(f"{_PALLAS}.{name}")
  except ImportError:
    return {}
  function = getattr(module, name)

  def norm(x, scale, bias=None, *, eps):
    bias = jnp.zeros_like(scale) if bias is None else bias
    y = function(x[None], scale, bias, eps=eps, interpret=interpret)
    return y[0]

  def softmax(x):
    if x.shape[-1] > _MOST_COLUMNS:
      raise ValueError(f"more than {_MOST_COLUMNS} columns")
    return function(x, interpret=interpret)

  return {"pallas": softmax if name == "softmax" else norm}


def _dot_rms_norm(x, scale, *, eps):
  """The sum is a product of matrices."""
  squares = jnp.einsum("...i,...i->...", wide(x), wide(x))[..., None]
  return (
      wide(x) * (jax.lax.rsqrt(squares / x.shape[-1] + eps) * scale)
  ).astype(x.dtype)


def _one_pass_layer_norm(x, scale, bias, *, eps):
  """Both sums at once, which cancels where means are large."""
  mean = jnp.mean(wide(x), -1, keepdims=True)
  variance = jnp.mean(wide(x) ** 2, -1, keepdims=True) - mean * mean
  rstd = jax.lax.rsqrt(variance + eps)
  return ((wide(x) - mean) * rstd * scale + bias).astype(x.dtype)


def _standardize_layer_norm(x, scale, bias, *, eps):
  y = jax.nn.standardize(wide(x), epsilon=eps)
  return (y * scale + bias).astype(x.dtype)


def _reciprocal_softmax(x):
  """A division per row."""
  powers = jnp.exp(wide(x) - wide(x).max(-1, keepdims=True))
  return (powers * (1 / powers.sum(-1, keepdims=True))).astype(x.dtype)


def _blocks(scan, function, x, *, axis):
  """Scans blocks of 128, and then their totals."""
  rows, cols = x.shape
  if cols % 128:
    return scan(x, axis)
  inner = scan(x.reshape(rows, -1, 128), 2)
  ends = scan(inner[:, :, -1], 1)
  rest = function(ends[:, :-1, None], inner[:, 1:])
  return jnp.concatenate([inner[:, :1], rest], 1).reshape(rows, cols)


def _of_scan(name, function):
  scan = getattr(jax.lax, name)
  return {
      "jax.lax, blocks": functools.partial(_blocks, scan, function),
      "associative_scan": functools.partial(jax.lax.associative_scan, function),
  }


def _associative(factors, terms, **options):
  scan = jax.lax.associative_scan
  return scan(combine, (factors, terms), **options)[1]


def _associative_ema(x):
  factors = jnp.full_like(x, 1 - ALPHA).at[:, 0].set(0)
  terms = (ALPHA * x).at[:, 0].set(x[:, 0])
  return _associative(factors, terms, axis=1)


def _associative_gae(rewards, discounts, values):
  delta = rewards + discounts * values[1:] - values[:-1]
  return _associative(LAMBDA * discounts, delta, reverse=True)


def _associative_lfilter(x):
  shifted = jnp.pad(x[:, :-1], ((0, 0), (1, 0)))
  terms = filters.B[0] * x + filters.B[1] * shifted
  return _associative(jnp.full_like(x, -filters.A[1]), terms, axis=1)


def _recurrence_by_scan(a, b, *, axis=1):
  step = lambda h, x: (x[0] * h + x[1],) * 2
  a, b = jnp.moveaxis(a, axis, 0), jnp.moveaxis(b, axis, 0)
  h = jax.lax.scan(step, jnp.zeros_like(b[0]), (a, b))[1]
  return jnp.moveaxis(h, 0, axis)


def _recurrence_in_blocks(a, b, *, axis):
  """The best in JAX: a loop over 32 steps of all blocks, and then of blocks."""
  rows, n, columns = b.shape
  if n % 32:
    return _recurrence_by_scan(a, b, axis=axis)
  a, b = (x.reshape(rows, n // 32, 32, columns) for x in (a, b))
  step = lambda last, x: (combine(last, x),) * 2
  first = (jnp.ones_like(a[:, :, 0]), jnp.zeros_like(b[:, :, 0]))
  xs = jnp.moveaxis(a, 2, 0), jnp.moveaxis(b, 2, 0)
  factors, terms = jax.lax.scan(step, first, xs)[1]
  ends = _recurrence_by_scan(factors[-1], terms[-1])
  before = jnp.pad(ends[:, :-1], ((0, 0), (1, 0), (0, 0)))
  return jnp.moveaxis(factors * before + terms, 0, 2).reshape(rows, n, columns)


def _integer_keys(x):
  """Returns signed integers in the order of floating-point numbers.

  XLA compares them faster. They are right where no zero is negative.
  """
  integer = jnp.dtype(f"int{8 * x.dtype.itemsize}")
  bits = jax.lax.bitcast_convert_type(x, integer)
  return jnp.where(bits < 0, bits ^ jnp.iinfo(integer).max, bits)


def _argsort_of_integers(x):
  indices = jax.lax.broadcasted_iota(jnp.int32, x.shape, x.ndim - 1)
  return jax.lax.sort((_integer_keys(x), indices), num_keys=1)[1]


def _sort_of_integers(x):
  keys = jnp.sort(_integer_keys(x))
  return jax.lax.bitcast_convert_type(
      jnp.where(keys < 0, keys ^ jnp.iinfo(keys.dtype).max, keys), x.dtype
  )


def _gather(order, *arrays):
  """Sorts indices only, and then gathers all arrays."""
  return tuple(jnp.take_along_axis(x, order, -1) for x in arrays)


def _argmax_in_two_passes(a, *, axis):
  """Finds the maximum, and then its first place."""
  n = a.shape[axis]
  found = (a == jnp.max(a, axis, keepdims=True)) | (a != a)
  return jnp.min(jnp.where(found, jnp.arange(n), n), axis)


def _unrolled_histogram(a, *, bins):
  edges = jnp.histogram_bin_edges(a, bins)
  places = jnp.searchsorted(edges, a, side="right", method="scan_unrolled")
  places = jnp.where(a == edges[-1], bins, places)
  return jnp.zeros(bins + 1, a.dtype).at[places].add(1)[1:], edges


def _nonzero_by_scatter(a, *, size):
  """Each true element writes its index to where it is among them."""
  mask = a != 0
  places = jnp.where(mask, jnp.cumsum(mask) - 1, size)
  return jnp.zeros(size, int).at[places].set(jnp.arange(len(a)), mode="drop")


def _wide_top_k(x, *, k):
  """XLA is fast with float32 alone."""
  values, indices = jax.lax.top_k(x.astype(jnp.float32), k)
  return values.astype(x.dtype), indices


def _thomas(dl, d, du, b):
  """Without pivots, all systems in lockstep."""

  def eliminate(above, row):
    c, r = above
    dl, d, du, b = row
    pivot = d - dl * c
    c, r = du / pivot, (b - dl[:, None] * r) / pivot[:, None]
    return (c, r), (c, r)

  def substitute(x, row):
    x = row[1] - row[0][:, None] * x
    return x, x

  rows = [jnp.moveaxis(x, 1, 0) for x in (dl, d, du, b)]
  first = jnp.zeros_like(rows[0][0]), jnp.zeros_like(rows[3][0])
  _, upper = jax.lax.scan(eliminate, first, rows)
  x = jax.lax.scan(substitute, first[1], upper, reverse=True)[1]
  return jnp.moveaxis(x, 0, 1)


# By op and form.
PEERS: dict[str, dict[str, Callable]] = {
    "argmax": {"jax.numpy, two passes": _argmax_in_two_passes},
    "argsort": {"jax.numpy, integers": _argsort_of_integers},
    "cumlogsumexp": _of_scan("cumlogsumexp", jnp.logaddexp),
    "cummax": _of_scan("cummax", jnp.maximum),
    "cummin": _of_scan("cummin", jnp.minimum),
    "cumprod": _of_scan("cumprod", jnp.multiply),
    "cumsum": _of_scan("cumsum", jnp.add),
    "ema": {"associative_scan": _associative_ema},
    "gae": {"associative_scan": _associative_gae},
    "histogram": {"jax.numpy, unrolled": _unrolled_histogram},
    "lax_sort": {
        "jax.numpy, gather": lambda first, second, values: _gather(
            jnp.lexsort((second, first)), first, second, values
        )
    },
    "layer_norm": {
        "jax.numpy, one pass": _one_pass_layer_norm,
        "jax.numpy, standardize": _standardize_layer_norm,
        **pallas("layer_norm"),
    },
    "lfilter": {
        "associative_scan": _associative_lfilter,
        "scan, unrolled": functools.partial(filters.filter_by_scan, unroll=8),
    },
    "linear_recurrence": {
        "jax.lax.scan": _recurrence_by_scan,
        "scan, blocks": _recurrence_in_blocks,
    },
    "nonzero": {"jax.numpy, scatter": _nonzero_by_scatter},
    "rms_norm": {"jax.numpy, dot": _dot_rms_norm, **pallas("rms_norm")},
    "softmax": {
        "jax.numpy, reciprocal": _reciprocal_softmax,
        **pallas("softmax"),
    },
    "sort": {"jax.numpy, integers": _sort_of_integers},
    "sort_key_val": {
        "jax.numpy, gather": lambda keys, values: _gather(
            jnp.argsort(keys), keys, values
        )
    },
    "top_k": {"jax.numpy, float32": _wide_top_k},
    "tridiagonal_solve": {"Thomas, scan": _thomas},
}
