# SPDX-License-Identifier: Apache-2.0
"""Ops of generated programs: many in one, since each op is compiled alone."""

from collections.abc import Callable, Sequence
import pathlib
from typing import Any

import jax
import numpy as np
import smooth_programs

from jax_ffi_ops import kit
import programs

COUNT = 5  # programs of an op


def is_differentiable(group: int) -> bool:
  return group % 2 == 1


def is_smooth(group: int) -> bool:
  return group % 4 >= 2


def seeds(group: int) -> range:
  return range(group * COUNT, (group + 1) * COUNT)


def functions(group: int) -> Sequence[Callable[..., Any]]:
  """Returns the programs of a group."""
  draw = programs.program
  if is_smooth(group):
    draw = lambda *x: smooth_programs.arrays(smooth_programs.program(*x))
  return [draw(seed, is_differentiable(group)) for seed in seeds(group)]


def declare(group: int) -> Any:
  """Declares the op `generated_<group>`: all operands, and all results."""
  names = [f"{kind}{k}" for k in range(COUNT) for kind in ("x", "n")]
  own = functions(group)
  avals = (
      jax.ShapeDtypeStruct((programs.FLOATS,), np.float32),
      jax.ShapeDtypeStruct((programs.INTEGERS,), np.int32),
  )

  def reference(*arrays):
    pairs = zip(arrays[::2], arrays[1::2])
    return [y for f, pair in zip(own, pairs) for y in f(*pair)]

  results = jax.eval_shape(reference, *avals * COUNT)
  side = lambda arrays: ",".join(
      f"({','.join(map(str, x.shape))})" for x in arrays
  )
  name = f"generated_{group}"
  return kit.op(
      name,
      library=kit.Library(
          pathlib.Path(__file__).with_name(f"lib{name}_ext.so"),
          prefix="loops_",
      ),
      signature=f"{side(avals * COUNT)}->{side(results)}",
      operands=names,
      reference=eval(  # pylint: disable=eval-used
          f"lambda {', '.join(names)}: f({', '.join(names)})",
          {"f": reference},
      ),
      dtypes={n: ({"x": "float32", "n": "int32"}[n[0]],) for n in names},
  )
