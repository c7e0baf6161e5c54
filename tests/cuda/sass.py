# SPDX-License-Identifier: Apache-2.0
"""Checks the machine code of CUDA kernels: registers, local memory, accesses."""

import collections
from collections.abc import Mapping
import ctypes
import dataclasses
import math
import os
import re
import subprocess

# Those of the flag //:cuda_architectures that machine code is made for.
ARCHITECTURES = [
    name
    for name in os.environ["ARCHITECTURES"].split()
    if name.startswith("sm_")
]

_ARCHITECTURE = re.compile(r"^arch = (sm_\w+)$")
_FUNCTION = re.compile(r"^\s*Function\s*:?\s+(\w+):?$")
_USAGE = re.compile(r"^\s+REG:(\d+) STACK:(\d+) SHARED:\d+ LOCAL:(\d+)\s")
_INSTRUCTION = re.compile(
    r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)\s*(.*?)\s*;"
)
_TARGET = re.compile(r"\b0x([0-9a-f]+)$")
_VECTOR = re.compile(r"\.(128|256)\b")
_REGISTER = re.compile(r"U?R\d")


@dataclasses.dataclass
class Kernel:
  """A kernel's machine code for one architecture.

  Attributes:
    registers: per thread.
    stack: bytes per thread, for spilled registers and indexed arrays.
    code: instructions as (address, name with modifiers, operands).
  """

  registers: int = 0
  stack: int = 0
  code: list[tuple[int, str, str]] = dataclasses.field(default_factory=list)

  def named(self, *names: str) -> list[tuple[int, str]]:
    """Returns address and name of the instructions of these kinds."""
    return [(a, n) for a, n, _ in self.code if n.partition(".")[0] in names]

  def loops(self) -> list[range]:
    """Returns the addresses of each loop, but for its last instruction."""
    found = []
    for address, name, operands in self.code:
      target = _TARGET.search(operands)
      if name.startswith("BRA") and target and int(target[1], 16) < address:
        found.append(range(int(target[1], 16), address))
    return found

  def longest_loop(self) -> int:
    """Returns how many instructions the longest loop has, with those in it."""
    counts = [sum(a in loop for a, _, _ in self.code) for loop in self.loops()]
    return 1 + max(counts, default=-1)

  def hot_accesses(self, *names: str) -> list[str]:
    """Returns the accesses in the innermost loops that have any, else all."""
    accesses = self.named(*names)
    loops = [x for x in self.loops() if any(a in x for a, _ in accesses)]
    innermost = [
        loop
        for loop in loops
        if not any(o != loop and o[0] in loop and o[-1] in loop for o in loops)
    ]
    hot = [n for a, n in accesses if any(a in loop for loop in innermost)]
    return hot or [name for _, name in accesses]


@dataclasses.dataclass(frozen=True)
class Plan:
  """What a kernel was planned to be.

  It never uses local memory, or a barrier whose number is in a register: such a
  block takes all 16, and a multiprocessor has few more than that.

  Attributes:
    registers: the most that a thread may have, for the planned occupancy.
    vector_loads: whether a hot loop loads 16 bytes or more at once.
    vector_stores: whether a hot loop stores them.
    loop: the most instructions that a loop may have.
  """

  registers: int
  vector_loads: bool = True
  vector_stores: bool = True
  loop: float = math.inf

  def violations(self, kernel: Kernel) -> list[str]:
    """Returns what is not as planned."""
    if not kernel.code or not kernel.registers:
      return ["no code or no resource usage was read"]
    found = []
    if kernel.registers > self.registers:
      found.append(f"{kernel.registers} registers, not {self.registers}")
    if kernel.stack:
      found.append(f"{kernel.stack} bytes of stack")
    longest = kernel.longest_loop()
    if longest > self.loop:
      found.append(f"{longest} instructions in a loop")
    local = kernel.named("LDL", "STL")
    if local:
      found.append(f"{len(local)} accesses to local memory")
    barriers = [
        operands
        for _, name, operands in kernel.code
        if name.startswith("BAR.") and _REGISTER.match(operands)
    ]
    if barriers:
      found.append(f"{len(barriers)} barriers by a number in a register")
    loads = kernel.hot_accesses("LDG", "LDGSTS")
    if self.vector_loads and not any(map(_VECTOR.search, loads)):
      found.append("no 128-bit load in a hot loop")
    stores = kernel.hot_accesses("STG")
    if self.vector_stores and not any(map(_VECTOR.search, stores)):
      found.append("no 128-bit store in a hot loop")
    return found


def _run(option, library):
  # It starts the disassembler by its name.
  path = os.path.abspath(os.path.dirname(os.environ["NVDISASM"]))
  return subprocess.run(
      [os.environ["CUOBJDUMP"], option, library],
      check=True,
      env={"PATH": path},
      stdout=subprocess.PIPE,
      text=True,
  ).stdout.splitlines()


def demangle(symbol: str) -> str:
  """Returns the C++ name of a symbol, with template and other arguments."""
  runtime = ctypes.CDLL("libstdc++.so.6")
  runtime.__cxa_demangle.restype = ctypes.c_char_p  # Never freed.
  name = runtime.__cxa_demangle(symbol.encode(), None, None, None)
  return name.decode() if name else symbol


def kernels(library: str) -> list[tuple[str, str, Kernel]]:
  """Returns C++ name, architecture and code of each of a library's kernels."""
  found = collections.defaultdict(Kernel)
  for option in ("--dump-resource-usage", "--dump-sass"):
    architecture = kernel = None
    for line in _run(option, library):
      if match := _ARCHITECTURE.match(line):
        architecture = match[1]
      elif match := _FUNCTION.match(line):
        kernel = found[match[1], architecture]
      elif match := _USAGE.match(line):
        kernel.registers = int(match[1])
        kernel.stack = int(match[2]) + int(match[3])
      elif match := _INSTRUCTION.match(line):
        kernel.code.append((int(match[1], 16), match[2], match[3]))
  # By symbol: two files may have kernels of the same name.
  return [(demangle(s), arch, found[s, arch]) for s, arch in sorted(found)]


def architectures(library: str) -> list[str]:
  """Returns what a library has code for: sm_* for code, compute_* for PTX."""
  code = {arch for _, arch, _ in kernels(library)}
  ptx = re.findall(
      r"\.sm_(\w+)\.ptx$", "\n".join(_run("--list-ptx", library)), re.M
  )
  return sorted(code | {"compute_" + version for version in ptx})


def violations(library: str, plans: Mapping[str, Plan]) -> list[str]:
  """Compares a library's kernels with plans for them.

  Args:
    library: path of a shared object, an object or a cubin.
    plans: by a regular expression that the C++ names begin with.

  Returns:
    A line for each difference; kernels that no plan or more than one is for,
    and plans that no kernel is for, are differences too.
  """
  lines = []
  missing = {(plan, arch) for plan in plans for arch in ARCHITECTURES}
  for name, architecture, kernel in kernels(library):
    named = [pattern for pattern in plans if re.match(pattern, name)]
    if len(named) != 1:
      lines.append(f"{name} on {architecture}: {len(named)} plans")
      continue
    missing.discard((named[0], architecture))
    for violation in plans[named[0]].violations(kernel):
      lines.append(f"{name} on {architecture}: {violation}")
  lines += [f"{p} on {arch}: no kernel" for p, arch in sorted(missing)]
  return lines
