# SPDX-License-Identifier: Apache-2.0
"""What all tests that call an op's handlers directly have in common."""

from collections.abc import Iterable, Sequence
import functools
from typing import Any

import jax
import numpy as np

from jax_ffi_ops.kit.testing.cases import choices
from jax_ffi_ops.kit.testing.conformance.base import Base
from jax_ffi_ops.kit.testing.direct.contract import Target
from jax_ffi_ops.kit.testing.direct.contract import targets
from jax_ffi_ops.kit.testing.direct.expected import Definition
from jax_ffi_ops.kit.testing.direct.frames import Refused
from jax_ffi_ops.kit.testing.direct.placed import OverrunError
from jax_ffi_ops.kit.testing.direct.right_calls import Right


class DirectCallBase(Base):
  """Makes right calls, and compares results with the definition.

  Attributes:
    definition: of the case that is tested.
  """

  definition: Definition

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))

  def needs_reference(self) -> bool:
    return self.case.definition is None

  def targets(self, extremes: bool = False) -> Iterable[Target]:
    """Yields the targets, with each choice of the optional operands.

    Args:
      extremes: whether all of them and none will do.
    """
    cases = choices.presences(self.case)
    for case in choices.extremes(cases) if extremes else cases:
      yield from self.targets_of(case)

  def targets_of(self, case: Any) -> Iterable[Target]:
    """Yields the targets of a case, whose definition is then that to use."""
    self.definition = Definition(case)
    yield from targets(case)

  def check_right(
      self, target: Target, call: Right, quickly: bool = False
  ) -> None:
    """Fails unless a call has the results of its definition.

    Args:
      target: what is called.
      call: see above.
      quickly: whether to leave out XLA, if that is possible.
    """
    results = self.results_of(target, call, quickly)
    self.check_results(target, call.label, call, results)

  def results_of(
      self, target: Target, call: Right, quickly: bool = False
  ) -> Sequence[np.ndarray]:
    run = call.frame.run
    if quickly:
      run = functools.partial(call.frame.run_quickly, target.library)
    try:
      return run(call.arrays)
    except Refused as error:
      self.fail(f"{target.name} refuses {call.label}: {error}")
    except OverrunError as error:
      self.fail_call(target, call.label, str(error))

  def check_results(
      self, target: Target, label: str, call: Right, results: Sequence[Any]
  ) -> None:
    """Fails unless `results` are those of a call."""
    expected = self.definition.results(target, call.frame, call.arrays)
    for name, want, got in zip(call.frame.results, expected, results):
      problem = want.problem(got)
      if problem:
        self.fail_call(target, label, f"{name} {problem}")

  def fail_call(self, target: Target, label: str, problem: str) -> None:
    what = ", ".join(dict.fromkeys(map(str, target.dtypes.values())))
    if target.call.attributes != self.case.call.attributes:
      what += f"; {target.call.attributes.plain}"
    self.fail(f"{target.name} with {label} ({what}): {problem}")
