# SPDX-License-Identifier: Apache-2.0
"""Which communication between devices a program may have."""

import math

from jax_ffi_ops.kit.testing.cases.case import LOOPS
from jax_ffi_ops.kit.testing.cases.placements import Placement
from jax_ffi_ops.kit.testing.cases.programs import Program
from jax_ffi_ops.kit.testing.conformance.base import Base


class CommunicationBase(Base):
  """Checks of the communication in a program."""

  def check_no_loop_gathered(
      self, row: str, program: Program, placement: Placement
  ) -> None:
    """Checks that all communication is that of split cores."""
    for collective in program.collectives():
      if collective.opcode == "all-reduce" and placement.core:
        continue  # Counted elsewhere.
      if collective.opcode != "all-gather" or not placement.core:
        self.fail_row(row, f"the program has an {collective.opcode}")
      if collective.elements > self.case.terms // placement.shards:
        self.fail_row(row, "the program gathers a loop dimension")
      states = placement.pieces * math.prod(LOOPS) // placement.shards
      numbers = self.case.state_size()
      if numbers and collective.elements > numbers * states:
        self.fail_row(row, "the program gathers a core")

  def check_sums(
      self, row: str, program: Program, placement: Placement
  ) -> None:
    """Checks that there is one all-reduce for each gradient that takes one."""
    if placement.core and not self.case.op.backward_platforms:
      return  # XLA splits the sums of the reference as it likes.
    if placement.shards == 1 and any(placement.loops):
      return  # A sum over one device is a copy.
    shared = placement.shared | self.case.parameters
    summed = shared.intersection(self.case.differentiable)
    expected = len(summed) if placement.shards > 1 else 0
    found = [x for x in program.collectives() if x.opcode == "all-reduce"]
    # XLA may make one of several.
    if len(found) > expected or bool(found) != bool(expected):
      self.fail_row(
          row, f"the program has {len(found)} all-reduces, not {expected}"
      )
    others = [x for x in program.collectives() if x.opcode != "all-reduce"]
    if others and not placement.core:
      self.fail_row(row, f"the program has an {others[0].opcode}")
