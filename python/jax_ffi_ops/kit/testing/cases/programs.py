# SPDX-License-Identifier: Apache-2.0
"""What a compiled program consists of."""

from collections.abc import Callable
import functools
import math
import re
from typing import Any, NamedTuple

import jax

_INSTRUCTION = re.compile(
    r"^\s*(?:ROOT )?%?([\w.-]+) = (\(.*?\)|\S+) ([a-z][\w-]*)\((.*?)\)", re.M
)
_SHAPE = re.compile(r"[a-z]\w*\[([\d,]*)\]")
_COLLECTIVE = re.compile(
    r"(all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter"
    r"|collective-broadcast)(-start)?"
)
_CALL = re.compile(r'stablehlo\.custom_call @"?([^"(]+)"?\(.* : \((.*)\) -> ')


# A library may add a hash to a target. It may compile an op for some calls at a
# time: so many rows, and some operands that these share.
_PART = "(?:_[0-9a-f]{12})?(?:_[0-9]+(?:_[0-9a-f]+)?)?"
_LOOP = " while("

# Opcodes of what gives the same memory another shape.
_VIEWS = ("bitcast", "reshape", "get-tuple-element")


@functools.cache
def _options():
  """Returns XLA's options with which a program of many parts compiles fast."""
  options = {
      "xla_cpu_parallel_codegen_split_count": 1,
      "xla_cpu_use_fusion_emitters": False,
  }
  try:
    jax.jit(lambda: 0, compiler_options=options)()
  except jax.errors.JaxRuntimeError:
    return None  # Not of this version.
  return options


def jit(function: Callable[..., Any]) -> Any:
  """Returns jax.jit(function), compiled in half the time: it runs once."""
  return jax.jit(function, compiler_options=_options())


class Instruction(NamedTuple):
  opcode: str
  elements: int  # of its largest result
  operands: list[str]


class Program:
  """A function compiled for its operands."""

  def __init__(self, function: Callable[..., Any], *args: Any):
    self._lowered = jax.jit(function).lower(*args)
    self._compiled = self._lowered.compile(_options())

  @functools.cached_property
  def text(self) -> str:
    return self._compiled.as_text()

  @functools.cached_property
  def instructions(self) -> dict[str, Instruction]:
    """The instructions of the optimized HLO by name, in all computations."""
    return {
        name: Instruction(opcode, _elements(shape), _names(operands))
        for name, shape, opcode, operands in _INSTRUCTION.findall(self.text)
    }

  def __call__(self, *args: Any) -> Any:
    return self._compiled(*args)

  def calls(self, target: str) -> int:
    """Returns how often the compiled program names a custom-call target."""
    return len(re.findall(_naming(target), self.text))

  def has_loop(self) -> bool:
    """Returns whether XLA makes a loop, with options of its own too.

    With those of the suite, it makes one of a scatter.
    """
    return _LOOP in self.text and _LOOP in self._lowered.compile().as_text()

  def sources(self, target: str) -> list[str]:
    """Returns what computes each operand of the first call: opcodes."""
    line = next(
        line
        for line in self.text.splitlines()
        if re.search(_naming(target), line)
    )
    call = self.instructions[_INSTRUCTION.match(line)[1]]
    return [self._source(name) for name in call.operands]

  def _source(self, name):
    instruction = self.instructions[name]
    if instruction.opcode in _VIEWS:
      return self._source(instruction.operands[0])
    return instruction.opcode

  def collectives(self) -> list[Instruction]:
    """Returns the communication between devices."""
    return [
        instruction._replace(opcode=match[1])
        for instruction in self.instructions.values()
        if (match := _COLLECTIVE.fullmatch(instruction.opcode))
    ]

  def call_operands(self, target: str) -> list[list[int]]:
    """Returns the sizes of the operands of each call, before optimization."""
    return [
        [_tensor_elements(t) for t in types.split(", ")]
        for name, types in _CALL.findall(self._lowered.as_text())
        if re.fullmatch(target + _PART, name)
    ]


def _naming(target):
  return f'custom_call_target="{target}{_PART}"'


def _names(operands):
  return re.findall(r"%([\w.-]+)", operands)


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
