# SPDX-License-Identifier: Apache-2.0
"""Transformations of JAX, drawn at random and applied one after the other.

All take a function of arrays and return one, so that any may follow any other.
"""

from collections.abc import Callable
import dataclasses
import math
from typing import Any

import jax
from jax.dtypes import float0
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P
import numpy as np

from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.cases import transforms

_Function = Callable[..., tuple[jax.Array, ...]]


@dataclasses.dataclass(eq=False)
class Composition:
  """Transformations so far, the first one innermost.

  Attributes:
    shapes: of the operands that what they make takes.
    wide: whether the dtypes are precise enough for second derivatives.
    text: what they are, for messages.
    steps: what they do.
    sizes: of the dimensions that they map over.
    orders: how many of them are derivatives.
  """

  shapes: list[tuple[int, ...]]
  wide: bool
  text: str
  steps: list[Callable[[_Function], _Function]] = dataclasses.field(
      default_factory=list
  )
  sizes: list[int] = dataclasses.field(default_factory=list)
  orders: int = 0

  @classmethod
  def draw(cls, rng: np.random.Generator, *args: Any) -> "Composition":
    drawn = cls(*args)
    for _ in range(rng.integers(1, 5)):
      # One mesh: a shard_map cannot be in another one over the same axis.
      kinds = ["jit", "remat", "vmap", "vmap", "scan"]
      kinds += ["shard_map"] * ("shard_map" not in drawn.text)
      kinds += ["vjp", "jvp"] * 2 * (drawn.orders < 1 + drawn.wide)
      drawn.add(str(rng.choice(kinds)), rng)
    return drawn

  @property
  def examples(self) -> int:
    """How many calls a gradient may be a sum over."""
    return math.prod(self.sizes)

  def __call__(self, function: _Function) -> _Function:
    for step in self.steps:
      function = step(function)
    return function

  def add(self, kind: str, rng: np.random.Generator) -> None:
    """Adds a transformation."""
    self.text = f"{kind} of {self.text}"
    if kind in _PLAIN:
      self.steps.append(_PLAIN[kind])
      self.orders += kind in ("vjp", "jvp")
      return
    chosen = rng.random(len(self.shapes)) < 0.6
    chosen[rng.integers(len(chosen))] = True
    ranks = [len(shape) if kind == "vmap" else 0 for shape in self.shapes]
    axes = tuple(
        int(rng.integers(rank + 1)) if c else None
        for c, rank in zip(chosen, ranks)
    )
    out = int(rng.choice((0, -1))) if kind == "vmap" else 0
    size = int(rng.integers(1, 4)) if kind != "shard_map" else 2
    self.text = f"{kind}({axes}, {out}, size {size}){self.text[len(kind):]}"
    self.sizes.append(size)
    self.shapes = [
        shape if axis is None else (*shape[:axis], size, *shape[axis:])
        for shape, axis in zip(self.shapes, axes)
    ]
    self.steps.append(lambda function: _MAPPED[kind](function, axes, out))


def _pattern(x):
  """Returns an array like `x` of numbers that every dtype has exactly.

  They are positive: a sum over the examples of a batch should not cancel, since
  its error is as large as its terms let it be.
  """
  numbers = (np.arange(x.size).reshape(x.shape) * 7 % 5 + 1) / 2
  return x * 0 + numbers.astype(x.dtype)  # It varies over a mesh as x does.


def _patterns(arrays):
  found = [_pattern(x) for x in arrays if jnp.issubdtype(x.dtype, jnp.inexact)]
  return transforms.real_tangents(arrays, found)


def _with_derivatives(arrays):
  return tuple(x for x in arrays if x.dtype != float0)


def _vjp(function):
  def run(*operands):
    results, vjp = jax.vjp(function, *operands)
    return _with_derivatives(vjp(_patterns(results)))

  return run


def _jvp(function):
  def run(*operands):
    tangents = _patterns(operands)
    return _with_derivatives(jax.jvp(function, operands, tangents)[1])

  return run


def _scan(function, axes, _):
  def run(*operands):
    def body(carry, examples):
      examples = iter(examples)
      return carry, function(
          *(x if a is None else next(examples) for x, a in zip(operands, axes))
      )

    mapped = [x for x, axis in zip(operands, axes) if axis is not None]
    return jax.lax.scan(body, None, mapped)[1]

  return run


def _shard_map(function, axes, _):
  def on_each(*operands):
    own = (x if axis is None else x[0] for x, axis in zip(operands, axes))
    return tuple(x[None] for x in function(*own))

  specs = tuple(P() if axis is None else P("d") for axis in axes)
  return jax.shard_map(
      on_each, mesh=devices.mesh(d=2), in_specs=specs, out_specs=P("d")
  )


_PLAIN = {"jit": jax.jit, "remat": jax.checkpoint, "vjp": _vjp, "jvp": _jvp}
_MAPPED = {"vmap": jax.vmap, "scan": _scan, "shard_map": _shard_map}
