# SPDX-License-Identifier: Apache-2.0
"""Filters of second-order sections, as scipy.signal has them."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit import arguments
from jax_ffi_ops.ops import lfilter


@kit.public(*kit.ops_of(lfilter.lfilter))
def sosfilt(
    sos: jax.Array,
    x: jax.Array,
    axis: int = -1,
    zi: jax.Array | None = None,
) -> jax.Array | tuple[jax.Array, jax.Array]:
  """Filters signals as scipy.signal.sosfilt does, on a CPU at full speed.

  One pass over the signals computes all sections, each in direct form II
  transposed, in SciPy's order of operations. Many signals are filtered side by
  side. 16-bit numbers are computed in float32, and each result is rounded once.

  Args:
    sos: [sections, 6]: the coefficients b and a of each section, as
      scipy.signal.butter(..., output="sos") returns them. The first a must be
      1; nothing checks that if it is traced.
    x: the signals. The result has the dtype that all operands promote to.
    axis: the axis to go along.
    zi: the states before the first step: [sections, *shape], where `shape` is
      x's shape with 2 in place of the length. By default, zeros.

  Returns:
    y, an array of x's shape. With `zi`, also the states after the last step.

  Raises:
    TypeError: an operand is no array of numbers, or axis is no integer.
    ValueError: shapes do not fit, there is no such axis, or a first a is not 1.
  """
  (sos,) = lfilter.coefficients("sosfilt", sos=sos)
  (x,) = lfilter.numbers("sosfilt", x=x)
  if sos.ndim != 2 or sos.shape[1] != 6 or not len(sos):
    raise ValueError(
        f"sosfilt: sos must have shape [sections, 6], got {sos.shape}."
    )
  if lfilter.is_known(sos) and not np.all(sos[:, 3] == 1):
    raise ValueError(f"sosfilt: sos[:, 3] must be 1, got {sos[:, 3]}.")
  axis = arguments.axis_of("sosfilt", "x", x.shape, axis)
  if zi is not None:
    (zi,) = lfilter.numbers("sosfilt", zi=zi)
    shape = (len(sos), *x.shape[:axis], 2, *x.shape[axis + 1 :])
    if zi.shape != shape:
      raise ValueError(
          f"sosfilt: zi must have shape {shape} for x of shape {x.shape} along"
          f" axis {axis}, got {zi.shape}."
      )
  dtype = jnp.result_type(sos, x, *([] if zi is None else [zi]))
  sections = sos[:, :3], sos[:, 3:]
  y, zf = lfilter.cascade(sections, x, axis, zi, dtype)
  return y if zi is None else (y, zf)
