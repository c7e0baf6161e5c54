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

import functools

from jax_ffi_ops.kit.testing.cases import choices
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH
from jax_ffi_ops.kit.testing.direct import contract
from jax_ffi_ops.kit.testing.direct import forked
from jax_ffi_ops.kit.testing.direct import right_calls
from jax_ffi_ops.kit.testing.direct import special_calls
from jax_ffi_ops.kit.testing.direct.frames import Refused
from jax_ffi_ops.kit.testing.direct.placed import OverrunError
from jax_ffi_ops.kit.testing.direct.refusals import RefusalTest
from jax_ffi_ops.kit.testing.exactness import checks

_SHIFTS = (1, 3, 9)  # elements
_MAY_RAISE = (Refused, OverrunError, NotImplementedError)


class HandlerTest(RefusalTest):
  """A handler checks what it is called with, and computes what it should.

  Attributes:
    checks_messages: whether a refusal has to begin with INVALID_ARGUMENT and
      the op's name and to say what is wrong. XLA's own macros cannot do so: set
      it to False for handlers that are made with them.
  """

  def test_handler_through_xla(self):
    for target in self.targets(extremes=not THOROUGH):
      self.check_right(target, right_calls.plain(target, self.definition))

  def test_handler_broadcasts(self):
    for target in self.targets(extremes=True):
      for call in right_calls.broadcast(target, self.definition):
        self.check_right(target, call, quickly=True)

  def test_handler_of_nothing(self):
    for target in self.targets(extremes=not THOROUGH):
      for call in right_calls.empty(target, self.definition):
        self.check_right(target, call, quickly=True)

  def test_handler_of_many_rows(self):
    """As many as make several ranges, for several threads."""
    for target in self.targets_of(self.case):
      for call in right_calls.many_rows(target, self.definition):
        self.check_right(target, call)

  def test_handler_of_any_threads(self):
    """The same bits for any number of threads, in any order of ranges."""
    if not self.case.deterministic:
      return
    for target in self.targets_of(self.case):
      call = next(right_calls.many_rows(target, self.definition))
      run = functools.partial(
          call.frame.run_without_xla, target.library, call.arrays
      )
      try:
        first = run()
        for seed in range(1, 8):
          for index in checks.different(first, run(seed=seed)):
            name = list(call.frame.results)[index]
            problem = f"{name} depends on the number of threads, or on chance"
            self.fail_call(target, call.label, problem)
      except NotImplementedError:
        return  # It is not up to tests what threads there are.

  def test_handler_of_many_ranges(self):
    """So many that only a few rows, which repeat, have a definition."""
    for target in self.targets_of(self.case):
      few, many = right_calls.many_ranges(target, self.definition)
      expected = self.definition.results(target, few.frame, few.arrays)
      results = self.results_of(target, many, quickly=True)
      for name, want, got in zip(few.frame.results, expected, results):
        for part in _different_parts(got, few.frame.results[name].shape[0]):
          if problem := want.problem(part):
            self.fail_call(target, many.label, f"{name} {problem}")

  def test_handler_of_operands_that_begin_anywhere(self):
    """A GPU's handler gets pointers into arrays; anyone may pass one."""
    for target in self.targets_of(self.case):
      call = right_calls.some_rows(target, self.definition)
      for shift in _SHIFTS:
        label = f"buffers that begin {shift} elements after an aligned address"
        run = functools.partial(
            call.frame.run_without_xla, target.library, call.arrays, shift
        )
        if ended := forked.ended([run], _MAY_RAISE):
          self.fail_call(target, label, f"it ends the process by {ended[1]}")
        try:
          results = run()
        except NotImplementedError:
          return  # XLA makes the call, and chooses the addresses.
        self.check_results(target, label, call, results)

  def test_handler_of_every_dtype(self):
    for present in choices.presences(self.case):
      is_full = len(present.operands) == len(self.case.operands)
      every = THOROUGH or is_full
      cases = choices.dtypes(present, every)
      for i, typed in enumerate(cases if every else choices.extremes(cases)):
        self._check_some_rows(typed)
        for case in choices.sizes(typed, is_first=not i) if is_full else ():
          self._check_some_rows(case)

  def test_handler_of_gradients_nobody_wants(self):
    """Each choice of gradients, with weights that rows share and their own."""
    for target in self.targets():
      for few in contract.skipping(target):
        self.check_right(few, right_calls.some_rows(few, self.definition))
        for call in right_calls.shared_rows(few, self.definition):
          self.check_right(few, call, quickly=True)

  def test_handler_of_other_attributes(self):
    for typed in choices.dtypes(self.case, every=False):
      for case in choices.other_attributes(typed):
        self._check_some_rows(case)

  def test_handler_of_wide_rows(self):
    """Sizes of vectors, with rows, broadcasting, columns and every dtype."""
    for i, typed in enumerate(choices.dtypes(self.case, every=THOROUGH)):
      wide = choices.wide(typed)
      for target in self.targets_of(wide):
        calls = right_calls.shared_rows(target, self.definition)
        first, *others = calls
        for call in (first, *(others if THOROUGH or not i else ())):
          self.check_right(target, call, quickly=True)
        for call in right_calls.more_columns(target, self.definition):
          self.check_right(target, call, quickly=True)

  def _check_some_rows(self, case):
    for target in self.targets_of(case):
      for columns in right_calls.columns(target):
        call = right_calls.some_rows(target, self.definition, columns)
        self.check_right(target, call, quickly=True)

  def test_handler_of_special_values(self):
    """NaN, infinities, huge and subnormal numbers, with any attributes."""
    for i, case in enumerate(choices.dtypes(self.case, every=THOROUGH)):
      every = THOROUGH or not i
      for limited in choices.at_limits(case) if every else (case,):
        for target in self.targets_of(limited):
          if self.definition.author(target) is None:
            continue  # Only NumPy's arithmetic does as written.
          for call in special_calls.special(target, self.definition):
            self.check_right(target, call)

  def test_handler_of_empty_cores(self):
    for case in choices.empty_cores(self.case):
      for target in self.targets_of(case):
        self._check_empty(target)

  def _check_empty(self, target):
    try:
      call = right_calls.plain(target, self.definition)
      self.definition.results(target, call.frame, call.arrays)
    except (IndexError, TypeError, ValueError) as error:
      for right in self.targets_of(self.case):  # Does it fail for these, too?
        plain = right_calls.plain(right, self.definition)
        self.definition.results(right, plain.frame, plain.arrays)
      cores = dict(target.cores)
      self.fail(
          f"The definition fails for cores of {cores}: {error}. If there is no"
          " result, say so by `empty_cores=False` of the case."
      )
    self.check_right(target, call, quickly=True)


def _different_parts(x, rows):
  """Yields the first rows of an array, and later ones with other bits."""
  parts = x.reshape(-1, rows, *x.shape[1:])
  yield parts[0]
  first = parts[0].tobytes()
  yield from (part for part in parts[1:] if part.tobytes() != first)
