# SPDX-License-Identifier: Apache-2.0
"""JAX ops with handlers in C++ and CUDA.

An op is the function of its name in the module of its name in jax_ffi_ops.ops.
Its shared object is loaded when the name is first used. What is made of ops, and
has no shared object, is in jax_ffi_ops.composed. `linalg` has what jax.numpy.linalg
has, and `random` what jax.random has. `compile` makes ops of functions of yours.
"""

import importlib
import pathlib
from typing import TYPE_CHECKING

from jax_ffi_ops import kit as kit
from jax_ffi_ops.heap import keep_freed_memory as keep_freed_memory

if TYPE_CHECKING:
  from jax_ffi_ops import linalg as linalg
  from jax_ffi_ops import random as random
  from jax_ffi_ops.compiled import compile as compile
  from jax_ffi_ops.composed.argmax import argmax as argmax
  from jax_ffi_ops.composed.argmin import argmin as argmin
  from jax_ffi_ops.composed.discounted_returns import (
      discounted_returns as discounted_returns,
  )
  from jax_ffi_ops.composed.ema import ema as ema
  from jax_ffi_ops.composed.histogram import histogram as histogram
  from jax_ffi_ops.composed.histogram2d import histogram2d as histogram2d
  from jax_ffi_ops.composed.lax_sort import lax_sort as lax_sort
  from jax_ffi_ops.composed.map_coordinates import (
      map_coordinates as map_coordinates,
  )
  from jax_ffi_ops.composed.median import median as median
  from jax_ffi_ops.composed.nanmedian import nanmedian as nanmedian
  from jax_ffi_ops.composed.nanpercentile import nanpercentile as nanpercentile
  from jax_ffi_ops.composed.nanquantile import nanquantile as nanquantile
  from jax_ffi_ops.composed.percentile import percentile as percentile
  from jax_ffi_ops.composed.permutation import permutation as permutation
  from jax_ffi_ops.composed.quantile import quantile as quantile
  from jax_ffi_ops.composed.sort_key_val import sort_key_val as sort_key_val
  from jax_ffi_ops.composed.sosfilt import sosfilt as sosfilt
  from jax_ffi_ops.composed.spline_filter import spline_filter as spline_filter
  from jax_ffi_ops.composed.unique import unique as unique
  from jax_ffi_ops.ops.add_rms_norm import add_rms_norm as add_rms_norm
  from jax_ffi_ops.ops.argpartition import argpartition as argpartition
  from jax_ffi_ops.ops.argsort import argsort as argsort
  from jax_ffi_ops.ops.cumlogsumexp import cumlogsumexp as cumlogsumexp
  from jax_ffi_ops.ops.cummax import cummax as cummax
  from jax_ffi_ops.ops.cummin import cummin as cummin
  from jax_ffi_ops.ops.cumprod import cumprod as cumprod
  from jax_ffi_ops.ops.cumsum import cumsum as cumsum
  from jax_ffi_ops.ops.gae import gae as gae
  from jax_ffi_ops.ops.layer_norm import layer_norm as layer_norm
  from jax_ffi_ops.ops.lfilter import lfilter as lfilter
  from jax_ffi_ops.ops.linear_recurrence import (
      linear_recurrence as linear_recurrence,
  )
  from jax_ffi_ops.ops.nonzero import nonzero as nonzero
  from jax_ffi_ops.ops.partition import partition as partition
  from jax_ffi_ops.ops.rms_norm import rms_norm as rms_norm
  from jax_ffi_ops.ops.softmax import softmax as softmax
  from jax_ffi_ops.ops.solve_banded import solve_banded as solve_banded
  from jax_ffi_ops.ops.sort import sort as sort
  from jax_ffi_ops.ops.spline_filter1d import spline_filter1d as spline_filter1d
  from jax_ffi_ops.ops.top_k import top_k as top_k
  from jax_ffi_ops.ops.tridiagonal_solve import (
      tridiagonal_solve as tridiagonal_solve,
  )

# Folders of functions under the names of a module of jax, with one library
# each: libraries.of_folder.
_FAMILIES = ("linalg", "random")


def load() -> None:
  """Loads all ops.

  Call it in a process that runs exported programs: the programs need the
  handlers, but the process may use no op by name.
  """
  from jax_ffi_ops.ops.common import libraries  # Not all programs have it.

  for name in _ops():
    for op in kit.function.ops_of(_load(name)):
      op.declaration.library.load()
  for name in _families():
    _load(name)
    libraries.of_folder(name).load()


def _ops() -> list[str]:
  return _in_folder("ops")


def _families():
  return [name for name in _FAMILIES if _in_folder(name)]


def _in_folder(folder):
  files = pathlib.Path(__file__).with_name(folder).glob("[!_]*.py")
  return sorted(file.stem for file in files)


def _load(name):
  if name == "compile" and _in_folder("compiled"):  # Few programs need it.
    from jax_ffi_ops.compiled import compile  # pylint: disable=redefined-builtin

    globals()[name] = compile
    return compile
  if name in _families():
    return importlib.import_module(f"jax_ffi_ops.{name}")
  # Submodules are asked for here, too, before they are imported.
  for folder in ("ops", "composed"):
    if not name.startswith("_") and name in _in_folder(folder):
      module = importlib.import_module(f"jax_ffi_ops.{folder}.{name}")
      function = getattr(module, name)
      globals()[name] = function
      return function
  raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not TYPE_CHECKING:  # A type checker is to know that other names are wrong.
  __getattr__ = _load


def __dir__() -> list[str]:
  found = {*globals(), *_ops(), *_in_folder("composed"), *_families()}
  return sorted(found | ({"compile"} if _in_folder("compiled") else set()))
