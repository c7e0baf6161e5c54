# SPDX-License-Identifier: Apache-2.0
"""Sorts of few elements, without branches: an element's place is a count."""

import numpy as np

from jax_ffi_ops.kit.emit import cpp
from jax_ffi_ops.kit.emit import errors
from jax_ffi_ops.kit.emit.rules import rule

# Each element is compared with all others.
_MOST = 256


@rule("sort")
def _sort(body, equation, *arrays):
  """Puts each element behind those that are less; equal ones keep their order."""
  writer = body.writer
  axis = equation.params["dimension"]
  n = arrays[0].shape[axis]
  if not isinstance(n, int) or n > _MOST:
    raise errors.Unsupported(f"of {n} elements, which may be {_MOST} at most")
  lanes = any(x.lanes for x in arrays)
  arrays = [writer.in_memory(x) for x in arrays]
  outs = [writer.buffer(x.shape, x.dtype, lanes) for x in arrays]
  others = [m for d, m in enumerate(arrays[0].shape) if d != axis]
  count = cpp.type_of(np.int32, lanes)
  with writer.loops(others) as outer:

    def element(x, i):
      index = [*outer[:axis], i, *outer[axis:]]
      return writer.element(x, index, lanes)

    with writer.loop(n) as i:
      place = writer.name("v")
      writer.line(f"{count} {place}{{}};")
      with writer.loop(n) as j:
        before = f"{j} < {i}"
        if lanes:
          before = writer.splat(before, bool)
        for key in reversed(arrays[: equation.params["num_keys"]]):
          a, b = element(key, j), element(key, i)
          less, equal = _compared(writer, key.dtype, a, b, lanes)
          before = f"({less} | ({equal} & ({before})))"
        mask = writer.let(before, bool, lanes)
        writer.line(f"{place} += FromMask<{count}>({mask});")
      for x, out in zip(arrays, outs):
        base = out.place([*outer[:axis], "0", *outer[axis:]])
        stride = cpp.dim(out.strides[axis])
        writer.line(
            f"Put({out.buffer}, {base}, {place} * {stride}, {element(x, i)});"
        )
  return [body.loaded(out) for out in outs]


def _compared(writer, dtype, a, b, lanes):
  """Returns whether a is less than b, and whether they are equal."""
  mask = cpp.type_of(bool, lanes)
  if dtype == bool:
    return f"(Not({a}) & {b})", f"Not({a} ^ {b})"
  if not cpp.is_float(dtype):
    return f"As<{mask}>({a} < {b})", f"As<{mask}>({a} == {b})"
  # NaNs are equal, and last.
  less = f"As<{mask}>(({a} < {b}) | (({b} != {b}) & ({a} == {a})))"
  equal = f"As<{mask}>(({a} == {b}) | (({a} != {a}) & ({b} != {b})))"
  return less, equal
