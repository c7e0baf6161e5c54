# SPDX-License-Identifier: Apache-2.0
"""Cases of functions that find or count some of the elements."""

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing.case import ours
from jax_ffi_ops.timing.case import Timed
from jax_ffi_ops.timing.cases import sorts
from jax_ffi_ops.timing.operands import Array
from jax_ffi_ops.timing.operands import array


def at_middle(take):
  """Returns the element at `kth`: on its sides they may be in any order."""
  return lambda x, *, kth: take(x, kth)[..., kth]


def at_middle_place(numpy, argpartition):
  """Returns the same, of a function that returns indices."""
  return lambda x, *, kth: numpy.take_along_axis(
      x, argpartition(x, kth)[..., kth : kth + 1], -1
  )


def _partition(name, wrapped):
  return Timed(
      wrapped(ours(name)),
      {"jax.numpy": wrapped(getattr(jnp, name))},
      attributes=lambda rows, cols: {"kth": cols // 2},
      **sorts.ROWS,
  )


def _statistic(name, **options):
  """Returns the case of the median of rows, or of a quantile."""
  return Timed(
      ours(name),
      {"jax.numpy": getattr(jnp, name)},
      sizes=("8x4", "4096x256", "64x16384", "1x1048576"),
      typical="1x1048576" if name == "median" else "4096x256",
      attributes=lambda rows, cols: {"axis": -1, **options},
      dtypes=("float32", "bfloat16"),
      streams={"forward": 1},  # a; the results are few
  )


def _first_of(name, axis, **options):
  return Timed(
      ours(name),
      {"jax.numpy": getattr(jnp, name)},
      attributes=lambda rows, cols: {"axis": axis},
      dtypes=("float32", "bfloat16", "int32", "int8"),
      streams={"forward": 1},  # a; the indices are few
      **options,
  )


def _histogram(name, count, **options):
  return Timed(
      ours(name),
      {"jax.numpy": getattr(jnp, name)},
      operands=lambda n, bins: (array(n),) * count,
      typical="1048576x100",
      attributes=lambda n, bins: {"bins": bins},
      dtypes=("float32",),
      streams={"forward": count},  # the bins are few
      **options,
  )


def _draw_a_tenth(key, shape):
  return jax.random.bernoulli(key, 0.1, shape)


CASES = {
    "argmax": _first_of(
        "argmax",
        -1,
        sizes=("64x64", "4096x256", "32x131072", "4096x4096", "1x16777216"),
        typical="32x131072",
    ),
    "argmin": _first_of("argmin", 0, sizes=("64x64", "4096x1024")),
    "argpartition": _partition(
        "argpartition", lambda f: at_middle_place(jnp, f)
    ),
    "histogram": _histogram(
        "histogram", 1, sizes=("32768x10", "1048576x100", "1048576x10000")
    ),
    "histogram2d": _histogram(
        "histogram2d", 2, sizes=("32768x10", "1048576x100")
    ),
    "median": _statistic("median"),
    "nanmedian": _statistic("nanmedian"),
    "nanpercentile": _statistic("nanpercentile", q=90.0),
    "nanquantile": _statistic("nanquantile", q=0.25),
    "nonzero": Timed(
        ours("nonzero"),
        {"jax.numpy": jnp.nonzero},
        operands=lambda n: (Array((n,), _draw_a_tenth),),
        sizes=("1000", "100000", "1048576", "16777216"),
        typical="1048576",
        attributes=lambda n: {"size": n // 8},
        dtypes=("bool", "float32"),
        streams={"forward": 1.5},  # a; indices, of an eighth as many int32
    ),
    "partition": _partition("partition", at_middle),
    "percentile": _statistic("percentile", q=90.0),
    "quantile": _statistic("quantile", q=0.25),
    "top_k": Timed(
        ours("top_k"),
        {"jax.numpy": lambda x, *, k: jax.lax.top_k(x, k)},
        operands=lambda rows, cols, k: (array(rows, cols),),
        sizes=(
            "1x16x2",
            "64x256x8",
            "1x131072x50",
            "1024x1024x8",
            "64x8192x1024",
            "8x131072x50",
            "256x50257x50",
            "32x131072x50",
        ),
        typical="8x131072x50",
        attributes=lambda rows, cols, k: {"k": k},
        dtypes=("float32", "bfloat16", "float16", "int32"),
        streams={"forward": 1},  # x; the results are small
    ),
}
