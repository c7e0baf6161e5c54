# SPDX-License-Identifier: Apache-2.0
"""What a compiled program consists of."""

from collections.abc import Callable
import math
import re
from typing import Any, NamedTuple

import jax

_INSTRUCTION = re.compile(
    r"^\s*(?:ROOT )?%?[\w.-]+ = (\(.*?\)|\S+) ([a-z][\w-]*)\(", re.M
)
_SHAPE = re.compile(r"[a-z]\w*\[([\d,]*)\]")
_COLLECTIVE = re.compile(
    r"(all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter"
    r"|collective-broadcast)(-start)?"
)
_CALL = re.compile(r"stablehlo\.custom_call @(\w+)\(.* : \((.*)\) -> ")


class Instruction(NamedTuple):
  opcode: str
  elements: int  # of its largest result


class Program:
  """A function compiled for its operands.

  Attributes:
    instructions: of the optimized HLO, in all computations.
  """

  def __init__(self, function: Callable[..., Any], *args: Any):
    self._lowered = jax.jit(function).lower(*args)
    self._compiled = self._lowered.compile()
    self._text = self._compiled.as_text()
    self.instructions = [
        Instruction(opcode, _elements(shape))
        for shape, opcode in _INSTRUCTION.findall(self._text)
    ]

  def __call__(self, *args: Any) -> Any:
    return self._compiled(*args)

  def calls(self, target: str) -> int:
    """Returns how often the compiled program names a custom-call target."""
    return self._text.count(f'custom_call_target="{target}"')

  def opcodes(self) -> set[str]:
    return {instruction.opcode for instruction in self.instructions}

  def collectives(self) -> list[Instruction]:
    """Returns the communication between devices."""
    return [
        Instruction(match[1], instruction.elements)
        for instruction in self.instructions
        if (match := _COLLECTIVE.fullmatch(instruction.opcode))
    ]

  def call_operands(self, target: str) -> list[list[int]]:
    """Returns the sizes of the operands of each call, before optimization."""
    return [
        [_tensor_elements(t) for t in types.split(", ")]
        for name, types in _CALL.findall(self._lowered.as_text())
        if name == target
    ]


def _elements(shape):
  return max(
      (
          math.prod(int(size) for size in dims.split(",") if size)
          for dims in _SHAPE.findall(shape)
      ),
      default=0,
  )


def _tensor_elements(text):  # "tensor<8x6xf32>"
  return math.prod(map(int, re.findall(r"(\d+)x", text)))
