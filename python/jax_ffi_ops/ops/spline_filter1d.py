# SPDX-License-Identifier: Apache-2.0
"""Coefficients of interpolating splines along an axis, as scipy.ndimage has them."""

import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit import arguments
from jax_ffi_ops.kit import dtypes
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.linear_recurrence import linear_recurrence

# The sums z + 1/z of the filters' poles, for each order. The poles are the roots
# of polynomials whose coefficients are the B-splines at integers: z^2 + 6 z + 1,
# z^2 + 4 z + 1, z^4 + 76 z^3 + 230 z^2 + 76 z + 1 and
# z^4 + 26 z^3 + 66 z^2 + 26 z + 1. (Unser, Aldroubi and Eden, "B-spline signal
# processing: part II", 1993.) The product of the last two pairs is 228, and 64.
_QUARTIC = -38 - 1216**0.5
_QUINTIC = -13 - 105**0.5
_SUMS = {
    0: (),
    1: (),
    2: (-6.0,),
    3: (-4.0,),
    4: (228 / _QUARTIC, _QUARTIC),
    5: (64 / _QUINTIC, _QUINTIC),
}
# How a line goes on where it ends: mirrored in the last element, mirrored
# behind it, or from the other end. For others SciPy takes one of these.
EXTENSIONS = {
    "mirror": "mirror",
    "constant": "mirror",
    "grid-constant": "mirror",
    "wrap": "mirror",
    "reflect": "reflect",
    "grid-mirror": "reflect",
    "nearest": "reflect",
    "grid-wrap": "grid-wrap",
}
_TERMS = 64  # A pole's power of that is below 1e-23.


def extended(i, n: int, extension: str):
  """Returns where the element i of an extended line of n elements is from."""
  if extension == "grid-wrap":
    return i % n
  repeats = int(extension == "reflect")  # the last element
  last = 2 * (n - 1) + repeats
  return (last - abs(2 * (i % (last + repeats)) - last)) >> 1


def _before(n, z, extension):
  """What z's powers weigh of a line, nearest first, that goes on before it.

  Returns:
    Where the first of the elements is, and their weights.
  """
  weights = np.zeros(n)
  steps = np.arange(_TERMS)
  np.add.at(weights, extended(-1 - steps, n, extension), z**steps)
  few = min(n, _TERMS + 1)
  at = n - few if extension == "grid-wrap" else 0
  return at, weights[at : at + few]


def _behind(n, z, extension):
  """Likewise, what the coefficient behind a line is of results of the causal pass.

  The coefficients go on as the line does: in c[n-1] = z (c[n] - y[n-1]), c[n] is
  c[n-2], c[n-1] or c[0].
  """
  if extension == "mirror":
    return n - 2, np.array([z, z * z]) / (z * z - 1)
  if extension == "reflect":
    return n - 1, np.array([z / (z - 1)])
  weights = np.zeros(n)
  steps = np.arange(_TERMS)
  np.add.at(weights, steps % n, -(z ** (steps + 1)))
  return 0, weights[:_TERMS]


def _part_of(n, at, weights):
  """Returns a slice of a line of n elements, and those weights it has."""
  part = slice(min(at, n), min(at + len(weights), n))
  return part, np.asarray(weights)[: part.stop - part.start]


def _weighted(x, at, weights):
  part, weights = _part_of(len(x), at, weights)
  return jnp.sum(x[part] * weights.astype(x.dtype))


def _both_ways(x, *, pole, gain, before, before_at, behind, behind_at):
  start = _weighted(x, before_at, before)
  y = linear_recurrence(pole, x, start)
  end = gain * _weighted(y, behind_at, behind)
  return linear_recurrence(pole, -pole * gain * y, end, reverse=True)


def _transpose(dc, *, pole, gain, before, before_at, behind, behind_at):
  def transposed(total, at, weights):
    part, weights = _part_of(len(dc), at, weights)
    return jnp.pad(
        total * weights.astype(dc.dtype), (part.start, len(dc) - part.stop)
    )

  if not len(dc):
    return dc
  v = linear_recurrence(pole, dc)
  dy = -pole * gain * v + transposed(pole * gain * v[-1], behind_at, behind)
  dx = linear_recurrence(pole, dy, reverse=True)
  return dx + transposed(pole * dx[0], before_at, before)


def _of_any_size(x, z, gain, extension, axis):
  """Filters lines whose size is a symbol of jax.export.

  The weights of the ends are sums over the size, which an attribute cannot be.
  """
  n, steps = jnp.asarray(x.shape[axis]), jnp.arange(_TERMS)
  x = jnp.moveaxis(x, axis, 0)
  powers = jnp.asarray(z ** np.arange(_TERMS), x.dtype)
  sum_of = lambda x, at: jnp.tensordot(powers, jnp.take(x, at, 0), 1)
  least = jnp.maximum(n, 2)
  start = sum_of(x, extended(-1 - steps, least, extension) % n)
  y = linear_recurrence(z, x, start, axis=0)
  match extension:
    case "mirror":
      end = z * (y[(n - 2) % n] + z * y[n - 1]) / (z * z - 1)
    case "reflect":
      end = z * y[n - 1] / (z - 1)
    case _:
      end = -z * sum_of(y, steps % n)
  c = linear_recurrence(z, -z * gain * y, gain * end, axis=0, reverse=True)
  return jnp.moveaxis(jnp.where(n < 2, x, c), 0, axis)


_WEIGHTS, _AT = [np.float64], kit.Attribute(np.int64, minimum=0)
_filter = kit.op(
    "spline_filter1d",
    library=libraries.beside(__file__),
    signature="(n,*)->(n,*)",
    # What is before a line, and behind it, are sums of its elements. These are
    # their weights, and where the first of these elements is.
    attributes={
        "pole": np.float64,
        "gain": np.float64,
        "before": _WEIGHTS,
        "before_at": _AT,
        "behind": _WEIGHTS,
        "behind_at": _AT,
    },
    reference=_both_ways,
    dtypes=(np.float32, np.float64),
    outputs=("c",),
    derivatives=kit.Derivatives(transpose=_transpose),
    # A handler copies lines: the longest ones would take too much memory.
    choice=kit.Choice(
        is_faster=lambda x, *, n, **_: x.size >= 1024 and n <= 1 << 16
    ),
)


def checked(name: str, order: int, mode: str, orders: range) -> None:
  """Raises ValueError if SciPy has no such order or mode."""
  if not isinstance(order, numbers.Integral) or order not in orders:
    raise ValueError(
        f"{name}: order must be {orders[0]} to {orders[-1]}, got {order!r}."
    )
  if not isinstance(mode, str) or mode not in EXTENSIONS:
    raise ValueError(
        f"{name}: mode must be one of {sorted(EXTENSIONS)}, got {mode!r}."
    )


def output_dtype(name: str, output: Any, given: np.dtype) -> np.dtype:
  """Returns the dtype of results that SciPy's argument `output` asks for.

  Args:
    name: of the function.
    output: from the user.
    given: that of the input.

  Raises:
    TypeError: `output` is no dtype of numbers.
  """
  if output is None:
    return given
  try:
    is_array = isinstance(output, jax.Array | np.ndarray)
    dtype = None if is_array else jnp.dtype(output)
  except TypeError:
    dtype = None
  if dtype is None or not jnp.issubdtype(dtype, np.number):
    raise TypeError(
        f"{name}: output must be a dtype of numbers, got {output!r}."
    )
  if jnp.issubdtype(given, np.complexfloating):
    return dtypes.widened(dtype, np.complex64)
  return dtype


def wide_dtype(given: np.dtype, output: np.dtype) -> np.dtype:
  """Returns the dtype in which results of a dtype are computed."""
  if jnp.issubdtype(output, np.inexact):
    return dtypes.widened(given, jax.dtypes.canonicalize_dtype(output))
  return dtypes.widened(given)


@kit.public(_filter, *kit.ops_of(linear_recurrence))
def spline_filter1d(
    input: jax.Array,
    order: int = 3,
    axis: int = -1,
    output: Any = None,
    mode: str = "mirror",
) -> jax.Array:
  """Computes the coefficients of a spline as scipy.ndimage.spline_filter1d does.

  The spline is the sum of c[k] B(t - k), with the coefficients c and the
  central B-spline B of this order. Its values at integers t are the elements of
  `input`. For each pole of B's inverse, linear recurrences run in both
  directions.

  Args:
    input: an array of numbers. 16-bit numbers are computed in float32.
    order: the order of the spline, from 0 to 5. Those of 0 and 1 have `input`
      as their coefficients.
    axis: the axis to go along.
    output: the dtype of the coefficients. SciPy's default is float64.
    mode: how a line continues beyond its ends: "mirror" (c b | a b c | b a),
      "reflect" (b a | a b c | c b), or "grid-wrap" (b c | a b c | a b). As in
      SciPy, "grid-mirror" and "nearest" are "reflect" here, and "wrap",
      "constant" and "grid-constant" are "mirror". (SciPy 1.17 is inexact where
      it reflects lines of a few elements.)

  Returns:
    The coefficients, an array of the shape of `input`. By default it also has
    its dtype, or for integers, the default floating-point dtype.

  Raises:
    TypeError: `input` has no numbers, axis is no integer, or output no dtype of
      numbers.
    ValueError: there is no such axis, order or mode.
  """
  checked("spline_filter1d", order, mode, range(6))
  x = arguments.numeric("spline_filter1d", "input", input)
  axis = arguments.axis_of("spline_filter1d", "input", x.shape, axis)
  given = x.dtype if jnp.issubdtype(x.dtype, np.inexact) else float
  given = jax.dtypes.canonicalize_dtype(given)
  dtype = output_dtype("spline_filter1d", output, given)
  n, extension = x.shape[axis], EXTENSIONS[mode]
  is_known = isinstance(n, int)
  if is_known and n < 2:  # SciPy leaves such lines as they are.
    return x.astype(dtype)
  x = x.astype(wide_dtype(given, dtype))
  is_complex = jnp.iscomplexobj(x)
  if is_complex:  # The real and the imaginary parts.
    x = jnp.stack([x.real, x.imag], -1)
  for total in _SUMS[order]:
    z = 2 / (total - (total * total - 4) ** 0.5)  # the one below 1
    if not is_known:
      x = _of_any_size(x, z, 2 - total, extension, axis)
      continue
    before_at, before = _before(n, z, extension)
    behind_at, behind = _behind(n, z, extension)
    x = _filter(
        x, axis=axis - x.ndim, pole=z, gain=2 - total,
        before=before, before_at=before_at, behind=behind, behind_at=behind_at,
    )  # fmt: skip
  if is_complex:
    x = jax.lax.complex(x[..., 0], x[..., 1])
  return x.astype(dtype)
