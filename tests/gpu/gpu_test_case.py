# SPDX-License-Identifier: Apache-2.0
"""What the tests here have in common: cases, and direct calls of handlers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
import dataclasses
import functools
import sys
from typing import Any, NamedTuple

from absl.testing import parameterized
import jax
import numpy as np
from own_case import own_case

import jax_ffi_ops
from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.kit.testing.cases import choices
from jax_ffi_ops.kit.testing.conformance import base
from jax_ffi_ops.kit.testing.direct.contract import Target
from jax_ffi_ops.kit.testing.direct.contract import targets
from jax_ffi_ops.kit.testing.direct.expected import Definition
from jax_ffi_ops.kit.testing.direct.frames import Buffer
from jax_ffi_ops.kit.testing.direct.frames import Frame


def has_gpu() -> bool:
  return jax.default_backend() == "gpu"


def at_most(cases, count):
  """Returns the cases; on the CPU so many of them, evenly spread."""
  cases = list(cases)
  return cases if has_gpu() else cases[:: max(1, len(cases) // count)]


def _has_cuda_handlers(op):
  """Whether an op of rows has them. Without CUDA, those with gradients stand in.

  Recurrences run their own tests on a GPU.
  """
  used = (x.declaration for x in kit.ops_of(getattr(jax_ffi_ops, op)))
  (declared,) = (x for x in used if x.name == op)
  platforms = declared.forward_platforms
  of_rows = not declared.signature.starred
  stands_in = not has_gpu() and bool(declared.backward_platforms)
  return of_rows and ("cuda" in platforms or stands_in)


def for_each_op(test: type) -> None:
  """Puts a class for each op, with the case of its own test, in `test`'s place."""
  for op in filter(_has_cuda_handlers, jax_ffi_ops._ops()):
    name = op.title().replace("_", "") + test.__name__
    module = {"__module__": test.__module__}
    setattr(
        sys.modules[test.__module__],
        name,
        type(name, (test,), {"case": own_case(op), **module}),
    )


def with_columns(case: Case, cols: int) -> Case:
  slots = [
      x and dataclasses.replace(x, core=(cols,) * len(x.core))
      for x in case.slots
  ]
  return dataclasses.replace(case, slots=slots)


def kinds(case: Case, cols: int) -> list[Case]:
  """Returns the case in all dtypes, and without what may be left out.

  Only a few of them are of very wide rows, the definition of which takes long.
  """
  _, *fewer = choices.presences(case)
  found = [with_columns(x, cols) for x in (*choices.dtypes(case), *fewer)]
  return found[::4] if cols > 2**16 else at_most(found, 2)


def program(
    frame: Frame, aliases: Mapping[int, int] | None = None, **options: Any
) -> Callable[..., Any]:
  """Returns the compiled call; `options` are those of jax.jit."""
  call = jax.ffi.ffi_call(
      frame.target,
      [b.struct for b in frame.results.values()],
      input_output_aliases=aliases,
  )
  return jax.jit(functools.partial(call, **frame.attributes), **options)


class Call(NamedTuple):
  """A call of a handler, its operands by name, and what it returned."""

  target: Target
  frame: Frame
  arrays: Mapping[str, Any]
  results: Sequence[Any]


def calls(
    case: Case, arrays: Sequence[Any], cotangent: Callable[..., Any]
) -> Iterator[Call]:
  """Calls each handler, the backward one with what the forward one returned.

  Args:
    case: see above.
    arrays: the operands, whose loops are rows.
    cotangent: function of a seed, a shape and a dtype.
  """
  known = dict(zip(case.op.operands, arrays))
  del arrays  # large_test has no room for what nobody reads any more.
  for target in targets(case):
    names = target.cotangents if target.is_backward else ()
    like = {
        name: Buffer(known[name].shape, known[name].dtype) for name in names
    }
    known = {name: known[name] for name in target.operands if name in known}
    for seed, (name, b) in enumerate(like.items()):
      known["d" + name] = cotangent(10 + seed, b.shape, b.dtype)
    own = {name: known[name] for name in target.operands}
    buffers = {name: Buffer(x.shape, x.dtype) for name, x in own.items()}
    frame = target.frame(buffers, batch_rank=0, trailing=0)
    results = program(frame)(*own.values())
    yield Call(target, frame, own, results)
    known |= zip(frame.results, results)
    del own, results


class GpuTestCase(base.Base, parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))

  def need_gpu(self):
    """Ends a test of what no CPU has; how many did is told by run.py."""
    if not has_gpu():
      self.skipTest("needs a GPU")

  def calls(self, case: Case, rows: int) -> Iterator[Call]:
    def cotangent(seed, shape, dtype):
      return Operand(dtype=dtype).array(seed, shape)

    for call in calls(case, case.arrays((rows,)), cotangent):
      arrays = {name: np.asarray(x) for name, x in call.arrays.items()}
      yield call._replace(arrays=arrays)

  def check(self, case: Case, call: Call, *others: Sequence[Any]):
    """Checks what a call returned, and what other ways to make it did."""
    expected = Definition(case).results(call.target, call.frame, call.arrays)
    for results in (call.results, *others):
      for name, want, got in zip(call.frame.results, expected, results):
        problem = want.problem(got)
        if problem:
          self.fail(f"{name} of {call.frame} {problem}")
