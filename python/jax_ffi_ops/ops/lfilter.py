# SPDX-License-Identifier: Apache-2.0
"""Linear filters, as scipy.signal has them."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit import arguments
from jax_ffi_ops.kit import dtypes
from jax_ffi_ops.ops.common import libraries


def _reference(b0, b, a, x, zi, *, reverse):
  def section(x, numbers):
    b0, b, a, z = numbers
    z = jnp.append(z, jnp.zeros((), z.dtype))
    y = z[0] + b0 * x
    return y, z[1:] + b * x - a * y

  def step(z, x):
    few = len(b0) <= 8  # XLA compiles so many sections without a loop.
    return jax.lax.scan(section, x, (b0, b, a, z), unroll=few)[::-1]

  return jax.lax.scan(step, zi, x, reverse=reverse)


_filter = kit.op(
    "lfilter",
    library=libraries.beside(__file__),
    # Sections s of order m: b[0], the other b and a, of which a[0] is 1.
    signature="(s,*),(s,m,*),(s,m,*),(n,*),(s,m,*)->(s,m,*),(n,*)",
    attributes={"reverse": np.bool_},
    reference=_reference,
    dtypes=(np.float32, np.float64, np.complex64, np.complex128),
    outputs=("zf", "y"),
    derivatives=kit.Derivatives(
        residuals=("y",),
        skips_gradients=True,
        needed_by={"y": ("b0", "b", "a")},
    ),
    # Below, or with few steps for a section, a call is most of the time.
    # To see it: //benchmarks:benchmark --at-any-speed
    #   --lines=lfilter/8x64/*/*/program
    choice=kit.Choice(
        is_faster=lambda b0, b, a, x, zi, **_: x.size >= max(1024, 16 * b0.size)
    ),
)


def cascade(sections, x, axis, zi, dtype):
  """Filters x by sections of one order, one after the other.

  Args:
    sections: b and a, both [sections, order + 1]; a[:, 0] is 1 already.
    x: the signals.
    axis: of x, counted from the first one.
    zi: [sections, *shape] with the order in place of the length of x, where
      axes but that may be 1; or None, for zeros.
    dtype: that of the results.

  Returns:
    y and zf.
  """
  b, a = sections
  order = b.shape[1] - 1
  shape = (len(b), *x.shape[:axis], order, *x.shape[axis + 1 :])
  zi = jnp.zeros(shape, x.dtype) if zi is None else jnp.broadcast_to(zi, shape)
  wide = dtypes.widened(dtype)
  b, a, x, zi = (array.astype(wide) for array in (b, a, x, zi))
  zf, y = _filter(
      b[:, 0], b[:, 1:], a[:, 1:], x, jnp.moveaxis(zi, 0, axis),
      axis=axis - x.ndim, reverse=False,
  )  # fmt: skip
  return y.astype(dtype), jnp.moveaxis(zf, axis, 0).astype(dtype)


def numbers(name, **operands):
  """Returns operands as arrays of floating-point or complex numbers."""
  arrays = []
  for operand, value in operands.items():
    if value is None:
      raise TypeError(f"{name}: {operand} must be numbers, got None.")
    known = all(map(is_known, jax.tree.leaves(value)))
    # Else what is known would be traced, too.
    with jax.ensure_compile_time_eval() if known else contextlib.nullcontext():
      x = arguments.numeric(name, operand, value)
      if not jnp.issubdtype(x.dtype, np.inexact):
        x = x.astype(jnp.zeros(()).dtype)
    arrays.append(x)
  return arrays


def coefficients(name, **operands):
  """Returns likewise what a filter is made of, as NumPy's arrays if known."""
  # They are constants of a program. jax.transfer_guard is about its operands.
  with jax.transfer_guard("allow"):
    return [constant(x) for x in numbers(name, **operands)]


def is_known(x):
  """Returns whether x has a value: not so where a function is traced."""
  return not isinstance(x, jax.core.Tracer)


def constant(x):
  """Returns x as NumPy's array if it is known: so are its slices, then."""
  return np.asarray(x) if is_known(x) else x


@kit.public(_filter)
def lfilter(
    b: jax.Array,
    a: jax.Array,
    x: jax.Array,
    axis: int = -1,
    zi: jax.Array | None = None,
) -> jax.Array | tuple[jax.Array, jax.Array]:
  """Filters signals as scipy.signal.lfilter does, on a CPU at full speed.

  a[0] y[t] = b[0] x[t] + ... + b[m] x[t-m] - a[1] y[t-1] - ... - a[m] y[t-m],
  in direct form II transposed, in SciPy's order of operations. Many signals are
  filtered side by side. 16-bit numbers are computed in float32, and each result
  is rounded once. Above order 4, use sosfilt: with rounded coefficients, the
  filter may not even be stable.

  Args:
    b: the numerator's coefficients, [m + 1] or fewer.
    a: the denominator's coefficients. The first one must not be 0; nothing
      checks that if it is traced.
    x: the signals. The result has the dtype that all operands promote to.
    axis: the axis to go along.
    zi: the state before the first step: an array like x, but with m in place of
      the length. Its other axes may be 1. By default, zeros.

  Returns:
    y, an array of x's shape. With `zi`, also the state after the last step.

  Raises:
    TypeError: an operand is no array of numbers, or axis is no integer.
    ValueError: shapes do not fit, there is no such axis, or a[0] is 0.
  """
  coefficients_ = coefficients("lfilter", b=b, a=a)
  b, a = (c if c.ndim else c[None] for c in coefficients_)
  (x,) = numbers("lfilter", x=x)
  for name, c in (("b", b), ("a", a)):
    if c.ndim != 1 or not c.size:
      raise ValueError(
          f"lfilter: {name} must have one axis, and at least one coefficient,"
          f" got shape {c.shape}."
      )
  if is_known(a) and a[0] == 0:
    raise ValueError("lfilter: a[0] must not be 0.")
  axis = arguments.axis_of("lfilter", "x", x.shape, axis)
  order = max(b.size, a.size) - 1
  if zi is not None:
    (zi,) = numbers("lfilter", zi=zi)
    expected = (*x.shape[:axis], order, *x.shape[axis + 1 :])
    fits = zi.ndim == x.ndim and zi.shape[axis] == order
    if not fits or any(own not in (1, n) for own, n in zip(zi.shape, expected)):
      raise ValueError(
          f"lfilter: zi must have shape {expected}, or 1 in place of other axes"
          f" than {axis}, got {zi.shape}."
      )
  # Not divided in 16 bits, which would be another filter; nor as complex numbers
  # if they are real, which would lose digits.
  dtype = jnp.result_type(b, a, x, *([] if zi is None else [zi]))
  wide = dtypes.widened(dtype)
  if not (jnp.iscomplexobj(b) or jnp.iscomplexobj(a)):
    wide = jnp.finfo(wide).dtype
  b, a = b.astype(wide), a.astype(wide)
  xp = np if is_known(b) and is_known(a) else jnp
  sections = [xp.pad(c / a[0], (0, order + 1 - c.size))[None] for c in (b, a)]
  start = None if zi is None else zi[None]
  y, zf = cascade(sections, x, axis, start, dtype)
  return y if zi is None else (y, zf[0])
