# SPDX-License-Identifier: Apache-2.0
"""The handlers of a compiled op: written and compiled when they are needed.

A program that is lowered says how many rows a call has, which operands these
share, and which passes there are. Only that is compiled: all widths of vectors
take four times as long.
"""

import dataclasses
import functools
import hashlib
import math
import re
import threading
from typing import Any

import jax

from jax_ffi_ops.compiled import runtime
from jax_ffi_ops.kit import cpu
from jax_ffi_ops.kit import toolchain
from jax_ffi_ops.kit.build import INCLUDE
from jax_ffi_ops.kit.calls.base import Received
from jax_ffi_ops.kit.declare.declaration import Declaration
from jax_ffi_ops.kit.load.cores import Core
from jax_ffi_ops.kit.load.cores import NotCompiledWarning
from jax_ffi_ops.kit.load.source import Source
from jax_ffi_ops.kit.warning import warn
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import handler
from jax_ffi_ops.loops import kernels


def hash_of(text: str) -> str:
  """Returns a hash of C++ but its comments, which say where lines come from."""
  text = re.sub(r"^ *//.*\n", "", text, flags=re.MULTILINE)
  return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclasses.dataclass(frozen=True)
class _Wanted:
  """What a handler is compiled for.

  Attributes:
    backward: which pass.
    shared: the operands that all rows have in common.
    lanes: how many rows at a time; None is any number.
  """

  backward: bool
  shared: tuple[str, ...]
  lanes: int | None


class Handlers(Source):
  """The handlers of one op, each of which is made when a call needs it."""

  def __init__(self, least_rows: tuple[float, float]):
    self.objects: dict[str, str] = {}  # By target: their paths.
    self.least_rows = least_rows
    self._x64 = jax.config.jax_enable_x64  # As the program was traced.
    self._op: Declaration | None = None
    self._refusals: dict[bool, str] = {}
    self._warned: set[bool] = set()
    self._kernels: dict[Any, kernels.Kernel] = {}
    self._found: dict[_Wanted, str | None] = {}
    self._making = threading.RLock()

  def declare(self, target: str, *, required: bool = True) -> frozenset[str]:
    del target, required
    return frozenset({"cpu"})

  def cores(self, op: str) -> "Handlers":  # It has their `find`.
    del op
    return self

  def belong_to(self, op: Declaration) -> None:
    self._op = op

  def first_text(self, backward: bool = False) -> str:
    """Returns the C++ of a pass for one row; nothing if it is refused."""
    if self.refusal(backward):
      return ""
    return handler.text(self._op, {"": [self._kernel(backward)]})

  def exported(self, target: str) -> str:
    if target != self._op.backward_target:
      return target
    return f"{target}_{self._backward_hash}"

  @functools.cached_property
  def _backward_hash(self):
    # The op's name has the hash of its forward pass. Another function that has
    # the same one may have other rules, by jax.custom_jvp and its like.
    with self._making:
      return hash_of(self.first_text(backward=True))

  def find(self, operands: Any, attributes: Any, backward: bool) -> Core:
    """Returns what there is for the op's only core; see kit.load.cores."""
    self.warn_if_refused(backward)
    return Core(operands, attributes, self.least_rows, self.refusal(backward))

  def refusal(self, backward: bool) -> str:
    """Returns why a pass cannot be compiled, or nothing."""
    with self._making:
      if backward not in self._refusals:
        self._refusals[backward] = self._problem(backward)
      return self._refusals[backward]

  def has_gradient(self) -> bool:
    """Returns whether a gradient was asked for, and can be compiled."""
    return self._refusals.get(True) == ""

  def _problem(self, backward):
    try:
      self._kernel(backward)
    except errors.Unsupported as error:
      return str(error)
    except Exception as error:  # pylint: disable=broad-except
      # A fault of ours is no reason to stop a program that jax can run.
      return f"{self._op.name}, a fault: {type(error).__name__}: {error}"
    return ""

  def warn_if_refused(self, backward: bool) -> None:
    """Warns, once, that jax runs a pass."""
    reason = self.refusal(backward)
    if self._op.choice.strict or toolchain.is_off():
      return  # An error says it; or the user wants it.
    if reason and backward not in self._warned:
      self._warned.add(backward)
      warn(f"jax runs what is not compiled: {reason}", NotCompiledWarning)

  def text(self) -> str:
    """Returns the C++ of both passes, of those that can be compiled."""
    op = self._op
    passes = {op.forward_target: False, op.backward_target: True}
    return handler.text(
        op,
        {
            k: [self._kernel(v)]
            for k, v in passes.items()
            if not self.refusal(v)
        },
    )

  def unread(self) -> frozenset[str]:
    with self._making:
      refused = self.refusal(True)
      return frozenset() if refused else self._kernel(True).unread

  def _kernel(self, backward, shared=()):
    if (backward, shared) not in self._kernels:
      found = kernels.kernels_of(self._op, [{}], shared, backward, self._x64)
      self._kernels[backward, shared] = found[0]
    return self._kernels[backward, shared]

  def ready(self, received: Received, exported: bool) -> str | None:
    backward = received.target == self._op.backward_target
    with self._making:
      if self.refusal(backward):
        return None
      rows, shared = self._rows(received, backward)
      bytes_ = self._kernel(backward).element_bytes
      lanes = None if exported else _lanes(bytes_, rows)
      wanted = _Wanted(backward, shared if lanes != 1 else (), lanes)
      if wanted not in self._found:
        self._found[wanted] = self._made(wanted)
      return self._found[wanted]

  def _rows(self, received, backward):
    """Returns how many rows a call has, and which operands these share."""
    axes = self._op.axes

    def rows(name, x):
      rank = len(axes[name][0])
      return math.prod(x.shape[: len(x.shape) - rank])

    shared = tuple(
        name
        for name in self._op.operands
        if rows(name, received.operands[name]) == 1
    )
    name, first = next(iter(received.results.items()))
    return rows(name.removeprefix("d") if backward else name, first), shared

  def _made(self, wanted) -> str | None:
    """Returns the target of a handler, which is compiled now."""
    target, text = self._text(wanted)
    try:
      path = toolchain.shared_object(
          text,
          name=target,
          includes=[INCLUDE],
          key=runtime.version(),
          has_vectors=wanted.lanes != 1,
      )
      runtime.register(path, target)
    except (toolchain.Unavailable, toolchain.Failed, OSError) as error:
      reason = f"{self._op.name}: {error}"
      is_of_both = isinstance(error, toolchain.Unavailable)
      refused = (False, True) if is_of_both else (wanted.backward,)
      self._refusals |= dict.fromkeys(refused, reason)
      return None
    self.objects[target] = path
    return target

  def _text(self, wanted):
    kernel = self._kernel(wanted.backward, wanted.shared)
    macros = _macros(kernel.element_bytes, wanted.lanes)
    target = self._target(wanted)
    return target, handler.text(self._op, {target: [kernel]}, macros)

  def _target(self, wanted):
    op = self._op
    target = self.exported(
        op.backward_target if wanted.backward else op.forward_target
    )
    if wanted.lanes is None:
      return target
    bits = sum(1 << i for i, n in enumerate(op.operands) if n in wanted.shared)
    return f"{target}_{wanted.lanes}" + f"_{bits:x}" * bool(bits)


def _widths(lane_bytes):
  """Returns how many rows vectors of this process may have, the least first."""
  level = cpu.cpu_level()
  vectors = {4: (32, 64), 3: (32,)}.get(level, ())
  return [1, *(n // lane_bytes for n in vectors)]


def _lanes(lane_bytes, rows):
  """Returns how many rows a handler takes at a time; None if it may be any."""
  if not isinstance(rows, int):
    return None
  enough = (n for n in _widths(lane_bytes) if n >= rows)
  return next(enough, _widths(lane_bytes)[-1])


def _macros(lane_bytes, lanes):
  widths = _widths(lane_bytes) if lanes is None else [lanes]
  found = {
      "XLA_FFI_OPS_LOOPS_RUNTIME_IS_APART": "",
      "XLA_FFI_OPS_LOOPS_WIDTHS": ", ".join(map(str, widths)),
  }
  level = cpu.cpu_level()
  return found | ({"XLA_FFI_OPS_LOOPS_LEVEL": str(level)} if level else {})
