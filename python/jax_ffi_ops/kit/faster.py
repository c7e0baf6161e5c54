# SPDX-License-Identifier: Apache-2.0
"""When the handlers of ops on rows are faster than the reference on the CPU."""

from collections.abc import Callable, Mapping
import math
from typing import Any, NamedTuple

import jax.numpy as jnp

from jax_ffi_ops.kit.cpu import cpu_level
from jax_ffi_ops.kit.cpu import threads


class Least(NamedTuple):
  """The smallest array for which a handler is faster.

  Attributes:
    size: its elements.
    cols: the elements of a row.
    sizes: other values of `size`, by level of the CPU (4 has AVX-512, 3 has
      AVX2) and dtype, such as `{(3, "float16"): 2**20}`.
    shared: an upper bound on `size` where the process may use several cores.
  """

  size: int
  cols: int = 1
  sizes: Mapping[tuple[int, str], int] = {}
  shared: int | None = None


def faster_for_rows(forward: Least, backward: Least) -> Callable[..., bool]:
  """Returns an `is_faster` that compares the first operand on the CPU.

  In a program, a call of a handler costs about a microsecond, and each row
  about 30 ns. XLA has neither cost, and it fuses the reference with the code
  around it.

  Args:
    forward: for forward handlers.
    backward: for backward handlers.
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
    dtype = jnp.dtype(x.dtype).name
    size = least.sizes.get((cpu_level(), dtype), least.size)
    if least.shared is not None and threads() > 1:
      size = min(size, least.shared)
    return x.shape[-1] >= least.cols and math.prod(x.shape) >= size

  leasts = (forward, backward)
  return is_faster
