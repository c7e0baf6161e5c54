# SPDX-License-Identifier: Apache-2.0
"""Linear recurrences of first order."""

import functools
import numbers

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit import arguments
from jax_ffi_ops.ops.common import libraries
from jax_ffi_ops.ops.common import recurrences


def padded(x, fill, low, high):
  """Returns x with so many elements before and behind it."""
  # vmap leaves the axes of lax.pad where they are, not so of concatenate.
  return jax.lax.pad(x, jnp.asarray(fill, x.dtype), [(low, high, 0)])


def step_before(x, fill, reverse):
  """Returns, for each step, what x is at the step before it."""
  return padded(x, fill, *((-1, 1) if reverse else (1, -1)))


_FEW = 8  # XLA compiles so many steps to one loop over the other axes.
# Of fewer 32-bit or wider elements, XLA's loop is faster: see is_faster below.
SMALL = 2048
# On a GPU, likewise. Nobody has measured it: XLA's loop launches a kernel for
# each step.
_SMALL_ON_GPU = 2048


def _reference(a, b, h0, *, reverse, shifted):
  wide = jnp.promote_types(b.dtype, np.float32)
  # Like this, zeros are split as b is: on explicit axes, scan demands that.
  start = jnp.sum(b[:0], dtype=wide) if h0 is None else h0.astype(wide)
  if shifted:
    a = step_before(a, 1, reverse)

  def step(h, pair):
    h = pair[0].astype(wide) * h + pair[1].astype(wide)
    return h, h.astype(b.dtype)

  return jax.lax.scan(
      step, start, (a, b), reverse=reverse, unroll=len(b) <= _FEW
  )[1]


def _from_step_before(x, start, reverse):
  """Returns, for each step, x at the step before it; `start` before the first."""
  moved = step_before(x, 0, reverse)
  if start is None or x.shape[0] == 0:
    return moved
  # start[None], but the op leaves the axes of vmap where they are.
  one, zero = jnp.ones(1, x.dtype), jnp.zeros(1, x.dtype)
  start = start.astype(x.dtype)
  start = _recurrence(one, zero, start, reverse=False, shifted=False)
  others = x.shape[0] - 1
  return moved + padded(start, 0, *((others, 0) if reverse else (0, others)))


def _passed_on(a, h, reverse, shifted):
  """Returns what the last step gives to one behind it."""
  last = slice(0, 1) if reverse else slice(-1, None)
  return (a[last] * h[last] if shifted else h[last])[0]


def _gradients(a, h, dh, start, end, reverse, shifted):
  """Returns the cotangents of a and b.

  Args:
    a, h, dh: as for `backward`.
    start: what h is before the first step, or None for zeros.
    end: what steps behind the last one give to the cotangent of b, likewise, or
      in float32.
    reverse, shifted: of h.
  """
  # The sum of dh[s] dh[s]/db[t] over s: the recurrence from the other end.
  db = _from(a, dh, end, reverse=not reverse, shifted=not shifted)
  if shifted:
    return _from_step_before(db, end, not reverse) * h, db
  return db * _from_step_before(h, start, reverse), db


def _backward(a, h0, h, dh, *, reverse, shifted):
  da, db = _gradients(a, h, dh, h0, None, reverse, shifted)
  if h0 is None or h.shape[0] == 0:
    return da, db, None if h0 is None else jnp.zeros_like(h0)
  return da, db, _passed_on(a, db, not reverse, not shifted)


_LIBRARY = libraries.beside(__file__)
_ATTRIBUTES = {"reverse": np.bool_, "shifted": np.bool_}


def _end(a, b, *, reverse, shifted):
  is_real = jnp.issubdtype(b.dtype, jnp.floating)
  end = end_of_real if is_real else _end_by_recurrence
  return end(a, b, reverse=reverse, shifted=shifted)


def _from(a, b, h0, *, reverse, shifted):
  """Returns the recurrence, whose h0 may be float32 where b has 16 bits."""
  is_wide = h0 is not None and h0.dtype != b.dtype
  op = _recurrence_from if is_wide else _recurrence
  return op(a, b, h0, reverse=reverse, shifted=shifted)


_split = recurrences.split(_from, _end, _gradients)

_declare = functools.partial(
    kit.op,
    library=_LIBRARY,
    signature="(n,*),(n,*),(*)?->(n,*)",
    # With `shifted`, a[t-1] takes the place of a[t], and 1 that of a[0].
    attributes=_ATTRIBUTES,
    reference=_reference,
    operands={"a": kit.Operand(stretched=True)},
    outputs=("h",),
)


def _is_faster(a, b, h0, *, n, platform, **_):
  del a, h0
  # For a few steps, jax is faster.
  if n <= _FEW:
    return False
  if platform == "cuda":
    return b.size >= _SMALL_ON_GPU
  # Below, a call of a handler, 1 to 2 us, is most of the time.
  # To see it: //benchmarks:benchmark --at-any-speed
  #   --lines=linear_recurrence/2x32x8/*/*/program
  # XLA's loops over 16 bits are much slower.
  return b.size >= (512 if b.dtype.itemsize == 2 else SMALL)


_recurrence = _declare(
    "linear_recurrence",
    dtypes=(*kit.FLOATING, np.complex64, np.complex128),
    derivatives=kit.Derivatives(backward=_backward, residuals=("h",)),
    split=_split,
    choice=kit.Choice(is_faster=_is_faster),
)

_recurrence_from = _declare(
    "linear_recurrence_from",
    dtypes={"a": (np.float16, jnp.bfloat16), "b": "a", "h0": [np.float32]},
)

# What devices exchange that each have a piece of the steps.
_end_by_recurrence = recurrences.ends(
    lambda *x, **y: _recurrence(*x, **y), _passed_on
)
with jax.enable_x64(True):  # Split cores are computed with 64-bit types, too.
  end_of_real = kit.op(
      "linear_recurrence_end",
      library=_LIBRARY,
      signature="(n,*),(n,*)->(*),(*),(*)",
      attributes=_ATTRIBUTES,
      reference=_end_by_recurrence,
      results=kit.Results(
          dtypes=lambda a, b, **_: (np.float64, np.int64, np.float64)
      ),
      dtypes=kit.FLOATING,
      operands={"a": kit.Operand(stretched=True)},
      outputs=("factor", "exponent", "term"),
  )


def stretched(a, shape, axis, message):
  """Returns a with all of the axes of b, of which those it lacked are 1.

  Args:
    a: the factors.
    shape: of b.
    axis: of the steps, counted from the first one.
    message: begins the one of an error: function and operand.
  """
  own = arguments.padded_shape(message, a, shape)
  if not shape:
    return a
  n = shape[axis]
  if own.count(1) - (own[axis] == 1) == len(shape) - 1:
    return jnp.broadcast_to(jnp.reshape(a, own[axis]), n)
  along = list(own)
  along[axis] = n
  return jnp.broadcast_to(jnp.reshape(a, own), along)


def _factors(a, b, axis):
  """Returns the factors a as the op takes them."""
  if isinstance(a, numbers.Number):
    dtype = getattr(b, "dtype", bool)
    if not jnp.issubdtype(dtype, np.inexact):
      a = jnp.asarray(a)  # The op refuses b.
    elif np.iscomplexobj(a) and not jnp.issubdtype(dtype, np.complexfloating):
      raise TypeError(
          f"linear_recurrence: a must be real, since b is {dtype}, got {a}."
      )
    else:
      a = jnp.asarray(a, jax.dtypes.canonicalize_dtype(dtype))
  elif not isinstance(a, jax.Array | np.ndarray | np.generic):
    return a  # The op refuses it.
  return stretched(a, np.shape(b), axis, "linear_recurrence: a")


@kit.public(_recurrence, _recurrence_from, end_of_real)
def linear_recurrence(
    a: jax.Array,
    b: jax.Array,
    h0: jax.Array | None = None,
    *,
    axis: int = 0,
    reverse: bool = False,
) -> jax.Array:
  """Computes h[t] = a[t] h[t-1] + b[t] along an axis, on a CPU at full speed.

  It goes from one element to the next. So factors of 0, large factors, infinity
  and NaN have the same effect as in a plain loop. The result does not depend on
  the number of threads. 16-bit numbers are computed in float32, and each result
  is rounded once.

  Its gradients are recurrences, too. Each order takes one more pass.

  Args:
    a: the factors: an array that broadcasts to the shape of b as in NumPy, or a
      number. It is copied only if it has size 1 along `axis`, or lacks it.
    b: an array of floating-point or complex numbers.
    h0: the value of h before the first step: an array of b's shape without
      `axis`, or a scalar array. By default, zeros.
    axis: the axis to go along; the last one is -1.
    reverse: whether to go from the last element to the first: h[t] = a[t]
      h[t+1] + b[t].

  Returns:
    h, an array of b's shape and dtype.

  Raises:
    TypeError: an operand is no array, has an unsupported dtype, or another
      dtype than b; or axis is no integer.
    ValueError: shapes do not fit, or b has no such axis.
  """
  if np.ndim(b):
    axis = arguments.axis_of("linear_recurrence", "b", np.shape(b), axis)
    arguments.check_start("linear_recurrence: h0", h0, np.shape(b), axis)
  return _recurrence(
      _factors(a, b, axis), b, h0, axis=axis, reverse=reverse, shifted=False,
  )  # fmt: skip
