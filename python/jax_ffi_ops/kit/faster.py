# SPDX-License-Identifier: Apache-2.0
"""When the handlers of ops on rows are faster than the reference on the CPU."""

from collections.abc import Callable
import math
from typing import Any, NamedTuple

import jax.numpy as jnp

from jax_ffi_ops.kit.cpu import cpu_level


class Least(NamedTuple):
  """The smallest array for which a handler is faster.

  Attributes:
    size: its elements.
    cols: the elements of a row.
    float16_size: its elements, if it is of float16 and there is no AVX-512.
  """

  size: int
  cols: int = 1
  float16_size: int = 0


def faster_for_rows(forward: Least, backward: Least) -> Callable[..., bool]:
  """Returns an `is_faster` that compares the first operand on the CPU.

  A call of a handler takes about a microsecond in a program, and each row some
  30 ns. XLA has neither cost, and fuses the reference with its neighbors.
  """

  def is_faster(
      x: Any, *others: Any, platform: str, backward: bool, **attributes: Any
  ) -> bool:
    del others, attributes
    if platform != "cpu":
      return True
    if cpu_level() == 1:
      return False  # These kernels are compiled for their size, not for speed.
    least = leasts[backward]
    size = least.size
    if x.dtype == jnp.float16 and cpu_level() == 3:
      size = max(size, least.float16_size)
    return x.shape[-1] >= least.cols and math.prod(x.shape) >= size

  leasts = (forward, backward)
  return is_faster
