# SPDX-License-Identifier: Apache-2.0
"""Wrong direct calls of an op's handlers, which have to refuse them."""

import functools
import re

from jax_ffi_ops.kit.testing.conformance.base import THOROUGH
from jax_ffi_ops.kit.testing.direct import forked
from jax_ffi_ops.kit.testing.direct import right_calls
from jax_ffi_ops.kit.testing.direct import wrong_calls
from jax_ffi_ops.kit.testing.direct.contract import Target
from jax_ffi_ops.kit.testing.direct.direct_calls import DirectCallBase
from jax_ffi_ops.kit.testing.direct.frames import Refused
from jax_ffi_ops.kit.testing.direct.placed import OverrunError
from jax_ffi_ops.kit.testing.direct.wrong_calls import Wrong

_MAY_RAISE = (Refused, OverrunError, NotImplementedError)


class RefusalTest(DirectCallBase):
  """A handler checks what it is called with."""

  checks_messages = True

  def test_handler_refuses_counts(self):
    for target in self.targets(extremes=not THOROUGH):
      self._check_wrong(target, wrong_calls.counts)

  def test_handler_refuses_shapes(self):
    few = self.targets_of(self.case)
    for target in self.targets(extremes=True) if THOROUGH else few:
      self._check_wrong(
          target, lambda frame: wrong_calls.shapes(target, frame)  # pylint: disable=cell-var-from-loop
      )

  def test_handler_refuses_dtypes(self):
    for target in self.targets_of(self.case):
      self._check_wrong(
          target, lambda frame: wrong_calls.dtypes(target, frame)  # pylint: disable=cell-var-from-loop
      )

  def test_handler_refuses_attribute_types(self):
    for target in self.targets_of(self.case):
      self._check_wrong(
          target, lambda frame: wrong_calls.attribute_types(target, frame)  # pylint: disable=cell-var-from-loop
      )

  def test_handler_refuses_attribute_values(self):
    for target in self.targets():
      self._check_wrong(
          target, lambda frame: wrong_calls.attribute_values(target, frame)  # pylint: disable=cell-var-from-loop
      )

  def _check_wrong(self, target, variations):
    right = right_calls.plain(target, self.definition)
    self.check_right(target, right, quickly=True)
    wrongs = list(variations(right.frame))
    calls = (
        functools.partial(wrong.frame.run_without_xla, target.library)
        for wrong in wrongs
    )
    if ended := forked.ended(calls, _MAY_RAISE):
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
    except OverrunError as error:
      self.fail_call(target, wrong.label, str(error))
    if not allowed:
      self.fail(
          f"{target.name} takes {wrong.label}: the handler has to refuse it."
      )
    if call is not None:
      self.check_results(target, wrong.label, call, results)

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
