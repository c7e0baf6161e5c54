# SPDX-License-Identifier: Apache-2.0
"""What the benchmark knows of an op: `ENTRY` of ops/<op>.py."""

from collections.abc import Callable, Mapping
import dataclasses
import importlib.util
import pathlib
import sys

import jax

_FOLDER = pathlib.Path(__file__).with_name("ops")


@dataclasses.dataclass(frozen=True)
class Entry:
  """An op, and what it is compared with.

  Attributes:
    function: the op. Its results have the first operand's shape.
    operands: from rows and columns, the shapes of the operands. The first is an
      array of this size, and so may be more; weights, of another shape, follow.
    forward: how many arrays of this size the forward pass reads and writes.
    backward: likewise, with what the forward pass kept for it.
    peers: the same in jax.numpy, in the forms that XLA compiles best. The first
      is the definition, too: of float64 operands it computes in float64.
    torch: the same from a module and tensors, by the library that has the
      module: torch_peers.py.
  """

  function: Callable
  operands: Callable[[int, int], tuple[tuple[int, ...], ...]]
  forward: int
  backward: int
  peers: Mapping[str, Callable]
  torch: Mapping[str, Callable] = dataclasses.field(default_factory=dict)

  def moved(self, x_bytes: int, direction: str) -> int:
    """Returns the bytes that a pass has to move, from those of one array."""
    streams = {
        "forward": self.forward,
        "backward": self.backward,
        "both": self.forward + self.backward,
    }
    return streams[direction] * x_bytes

  def make_sets(self, shape, dtype, count: int) -> list[tuple[tuple, tuple]]:
    """Returns random operands and cotangents; the weights are the same ones."""
    shapes = self.operands(*shape)
    results = jax.eval_shape(
        self.function, *(jax.ShapeDtypeStruct(s, dtype) for s in shapes)
    )
    keys = map(jax.random.key, range(2**31))
    weights = [
        (1 + jax.random.uniform(next(keys), s)).astype(dtype)
        for s in shapes
        if s != shape
    ]

    def normal(number):
      return tuple(_normal(next(keys), shape, dtype) for _ in range(number))

    return [
        (
            (*normal(len(shapes) - len(weights)), *weights),
            normal(len(jax.tree.leaves(results))),
        )
        for _ in range(count)
    ]


def _normal(key, shape, dtype):
  draw = lambda key: jax.random.normal(key, shape).astype(dtype)
  return jax.block_until_ready(jax.jit(draw)(key))  # One temporary at a time.


def names() -> list[str]:
  """Returns the ops that have an entry."""
  return sorted(file.stem for file in _FOLDER.glob("*.py"))


def load(name: str) -> Entry:
  """Returns the entry of an op."""
  spec = importlib.util.spec_from_file_location(
      f"benchmark_of_{name}", _FOLDER / f"{name}.py"
  )
  module = importlib.util.module_from_spec(spec)
  # torch.compile imports the module of a function that has global variables.
  sys.modules[spec.name] = module
  spec.loader.exec_module(module)
  return module.ENTRY
