# SPDX-License-Identifier: Apache-2.0
"""The handlers of an op, called directly: right calls, and wrong ones.

Anyone can call a registered target with anything. What docs/contract.md allows
gives what the definition says; all else is refused, with a message that begins
with the op's name and says what is wrong. A handler may also refuse what the
contract allows and no program of the kit contains, but not compute it wrongly.

XLA makes the calls that show what it has a part in: threads and subnormal
numbers. The others are made without it, on a CPU, since it would compile each of
them.
"""

from collections.abc import Iterable
import functools
import re

import jax

from jax_ffi_ops.kit.testing import choices
from jax_ffi_ops.kit.testing import right_calls
from jax_ffi_ops.kit.testing import special_calls
from jax_ffi_ops.kit.testing import trying
from jax_ffi_ops.kit.testing import wrong_calls
from jax_ffi_ops.kit.testing.base import Base
from jax_ffi_ops.kit.testing.contract import Target
from jax_ffi_ops.kit.testing.contract import targets
from jax_ffi_ops.kit.testing.expected import Definition
from jax_ffi_ops.kit.testing.frames import Refused
from jax_ffi_ops.kit.testing.wrong_calls import Wrong


class HandlerTest(Base):
  """A handler checks what it is called with, and computes what it should.

  Attributes:
    checks_messages: whether a refusal has to begin with INVALID_ARGUMENT and
      the op's name and to say what is wrong. XLA's own macros cannot do so: set
      it to False for handlers that are made with them.
  """

  checks_messages = True

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))

  def _targets(self, extremes: bool = False) -> Iterable[Target]:
    """Yields the targets, with each choice of the optional operands.

    Args:
      extremes: whether all of them and none will do.
    """
    cases = list(choices.presences(self.case))
    for case in dict.fromkeys((cases[0], cases[-1])) if extremes else cases:
      self.definition = Definition(case)
      yield from targets(case)

  def test_handler_broadcasts(self):
    for target in self._targets(extremes=True):
      for call in right_calls.broadcast(target, self.definition):
        self._check_right(target, call, quickly=True)

  def test_handler_of_nothing(self):
    for target in self._targets():
      for call in right_calls.empty(target, self.definition):
        self._check_right(target, call, quickly=True)

  def test_handler_of_many_rows(self):
    """As many as make several ranges, for several threads."""
    self.definition = Definition(self.case)
    for target in targets(self.case):
      for call in right_calls.many_rows(target, self.definition):
        self._check_right(target, call)

  def test_handler_of_every_dtype(self):
    for present in choices.presences(self.case):
      for typed in choices.dtypes(present):
        is_full = len(present.operands) == len(self.case.operands)
        for case in (typed, *(choices.sizes(typed) if is_full else ())):
          self.definition = Definition(case)
          for target in targets(case):
            call = right_calls.some_rows(target, self.definition)
            self._check_right(target, call, quickly=True)

  def test_handler_of_special_values(self):
    """NaN, infinities, huge and subnormal numbers, with any attributes."""
    for case in choices.dtypes(self.case):
      for limited in choices.at_limits(case):
        self.definition = Definition(limited)
        for target in targets(limited):
          if self.definition.author(target) is None:
            continue  # Only NumPy's arithmetic does as written.
          for call in special_calls.special(target, self.definition):
            self._check_right(target, call)

  def test_handler_of_empty_cores(self):
    for case in choices.empty_cores(self.case):
      self.definition = Definition(case)
      for target in targets(case):
        self._check_empty(target)

  def _check_empty(self, target):
    try:
      call = right_calls.plain(target, self.definition)
      self.definition.results(target, call.frame, call.arrays)
    except (IndexError, TypeError, ValueError) as error:
      cores = [x.core for x in self.definition.case.operands]
      self.fail(
          f"The definition fails for cores of {cores}: {error}. If there is no"
          " result, say so by `empty_cores=False` of the case."
      )
    self._check_right(target, call)

  def test_handler_refuses_counts(self):
    for target in self._targets():
      self._check_wrong(target, wrong_calls.counts)

  def test_handler_refuses_shapes(self):
    for target in self._targets(extremes=True):
      self._check_wrong(
          target, lambda frame: wrong_calls.shapes(target, frame)  # pylint: disable=cell-var-from-loop
      )

  def test_handler_refuses_dtypes(self):
    self.definition = Definition(self.case)
    for target in targets(self.case):
      self._check_wrong(
          target, lambda frame: wrong_calls.dtypes(target, frame)  # pylint: disable=cell-var-from-loop
      )

  def test_handler_refuses_attribute_types(self):
    self.definition = Definition(self.case)
    for target in targets(self.case):
      self._check_wrong(
          target, lambda frame: wrong_calls.attribute_types(target, frame)  # pylint: disable=cell-var-from-loop
      )

  def test_handler_refuses_attribute_values(self):
    for target in self._targets():
      self._check_wrong(
          target, lambda frame: wrong_calls.attribute_values(target, frame)  # pylint: disable=cell-var-from-loop
      )

  def _check_right(self, target, call, quickly=False):
    run = call.frame.run
    if quickly:
      run = functools.partial(call.frame.run_quickly, target.library)
    try:
      results = run(call.arrays)
    except Refused as error:
      self.fail(f"{target.name} refuses {call.label}: {error}")
    self._check_results(target, call.label, call, results)

  def _check_results(self, target, label, call, results):
    expected = self.definition.results(target, call.frame, call.arrays)
    for name, want, got in zip(call.frame.results, expected, results):
      problem = want.problem(got)
      if problem:
        dtypes = ", ".join(dict.fromkeys(map(str, target.dtypes.values())))
        self.fail(f"{target.name} with {label} ({dtypes}): {name} {problem}")

  def _check_wrong(self, target, variations):
    right = right_calls.plain(target, self.definition)
    self._check_right(target, right)
    wrongs = list(variations(right.frame))
    calls = (
        functools.partial(wrong.frame.run_without_xla, target.library)
        for wrong in wrongs
    )
    if ended := trying.ended(calls, (Refused, NotImplementedError)):
      index, reason = ended
      self.fail(
          f"{target.name} with {wrongs[index].label} ends the process by"
          f" {reason}: the handler has to refuse it."
      )
    for wrong in wrongs:
      self._check_refused(target, wrong)

  def _check_refused(self, target: Target, wrong: Wrong) -> None:
    allowed = target.allows(wrong.frame)
    call = None
    if allowed:
      call = right_calls.of_frame(target, self.definition, wrong.frame)
    try:
      results = wrong.frame.run_quickly(target.library, call and call.arrays)
    except Refused as error:
      self._check_message(target, wrong, str(error), allowed)
      return
    if not allowed:
      self.fail(
          f"{target.name} takes {wrong.label}: the handler has to refuse it."
      )
    if call is not None:
      self._check_results(target, wrong.label, call, results)

  def _check_message(self, target, wrong, message, allowed):
    if not self.checks_messages:
      return
    name = re.escape(target.call.op.name)
    begin = rf"INVALID_ARGUMENT: \w*{name}\w*: "
    if not re.match(begin, message):
      self.fail(
          f"A call of {target.name}, {wrong.label}, has to say 'INVALID_ARGUMENT:"
          f" {target.call.op.name}: ...', but says {message!r} (if XLA's own"
          " macros made the handler, set checks_messages = False)"
      )
    if not allowed and not re.match(rf"{begin}.*({wrong.message})", message):
      self.fail(
          f"{target.name} refuses {wrong.label}, but does not say"
          f" {wrong.message!r}: {message!r}"
      )
