# SPDX-License-Identifier: Apache-2.0
"""Handler and reference are within one bound: that of the op's definition.

A small call runs the reference, and a large one the handler. So a row would
depend on how many rows there are, if one of them were less exact.
"""

import dataclasses
import os

os.environ["JAX_PLATFORMS"] = "cpu"

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np
from own_case import own_case

import jax_ffi_ops
from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing.direct import contract
from jax_ffi_ops.kit.testing.direct import right_calls
from jax_ffi_ops.kit.testing.direct.expected import Definition
from jax_ffi_ops.kit.testing.direct.rows import Rows
from jax_ffi_ops.kit.testing.exactness.rounding import gamma

# Those with a definition whose bound is for both. Running sums and products have
# another one, since handlers compute them in wider numbers.
_OPS = {
    "add_rms_norm": ("bfloat16", "float16", "float32", "float64"),
    "gae": ("float32", "float64"),
    "layer_norm": ("bfloat16", "float16", "float32", "float64"),
    "lfilter": ("float32", "float64"),
    "linear_recurrence": ("bfloat16", "float16", "float32", "float64"),
    "rms_norm": ("bfloat16", "float16", "float32", "float64"),
    "softmax": ("bfloat16", "float16", "float32", "float64"),
    "solve_banded": ("float32", "float64"),
    "spline_filter1d": ("float32", "float64"),
    "tridiagonal_solve": ("float32", "float64"),
}
# What may be constant, if not the first operand.
_CONSTANT = {"lfilter": "x", "solve_banded": "b", "tridiagonal_solve": "b"}
# Of constant rows; their sums are rounded.
_CONSTANTS = (0, 0.1, -1e-3, 1 / 3, 1234.567, -1e6, 1e6)


def _reference_of(target, call):
  """Returns what computes the results of a call like this one."""
  op, rows = target.call.op, Rows(target, call.frame)
  run = lambda *xs: op.reference(
      dict(zip(op.operands, xs)), target.call.attributes.plain
  )
  for _ in rows.loops:
    run = jax.vmap(run)
  run = jax.jit(run)

  def results(call):
    found = run(
        *(
            rows.full(name, rows.of(name, call.arrays[name]))
            for name in op.operands
        )
    )
    return [
        rows.result(name, np.asarray(x).astype(b.dtype))
        for (name, b), x in zip(rows.visible_results(), found, strict=True)
    ]

  return results


class _TestCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))

  def check_one_bound(self, op, dtype):
    case = own_case(op)
    case = dataclasses.replace(
        case, slots=[dataclasses.replace(x, dtype=dtype) for x in case.slots]
    )
    target, *_ = contract.targets(case)
    definition = Definition(case)
    drawn = right_calls.with_rows(target, definition, len(_CONSTANTS))
    reference = _reference_of(target, drawn)
    for call in (drawn, self._constant(op, drawn)):
      ways = {
          "handler": call.frame.run(call.arrays),
          "reference": reference(call),
      }
      wanted = definition.results(target, call.frame, call.arrays)
      for way, results in ways.items():
        for name, want, got in zip(call.frame.results, wanted, results):
          problem = want.problem(got)
          self.assertFalse(problem, f"{way}, {call.label}: {name} {problem}")

  def _constant(self, op, call):
    own = _CONSTANT.get(op) or next(iter(call.arrays))
    x = call.arrays[own]
    values = np.reshape(_CONSTANTS, (-1,) + (1,) * (x.ndim - 1))
    constant = np.broadcast_to(values, x.shape).astype(x.dtype)
    arrays = dict(call.arrays) | {own: constant}
    return call._replace(label=f"constant: {call.label}", arrays=arrays)


class BothWaysTest(_TestCase):

  @parameterized.parameters(
      (op, x) for op, dtypes in _OPS.items() for x in dtypes[::2]
  )
  def test_one_bound(self, op, dtype):
    self.check_one_bound(op, dtype)

  @parameterized.product(
      name=("cumsum", "cumprod", "cumlogsumexp"), dtype=("float32", "float64")
  )
  def test_scans(self, name, dtype):
    """Both are off by 2n roundings of a sum or product of magnitudes at most."""
    op, *_ = kit.ops_of(getattr(jax_ffi_ops, name))
    n, wide = 1000, np.longdouble
    drawn = np.random.default_rng(0).normal(size=(1, n))
    x = np.concatenate([drawn, np.reshape(_CONSTANTS[:5], (-1, 1)) + 0 * drawn])
    if name == "cumprod":
      x = 1 + np.clip(x / 40, -0.05, 0.05)  # Nothing overflows.
    x = x.astype(dtype)
    if name == "cumprod":
      want = np.cumprod(x, -1, wide)
      size = abs(want)
    elif name == "cumsum":
      want, size = np.cumsum(x, -1, wide), np.cumsum(abs(x), -1, wide)
    else:
      want = np.logaddexp.accumulate(x.astype(wide), -1)
      # Each sum is a logarithm, too, which is rounded as such.
      size = 1 + np.maximum.accumulate(abs(want), -1) + abs(x)
    bound = gamma(2 * n, dtype) * size
    with kit.using("handler if served"):
      handler = jax.jit(lambda x: op(x, axis=-1, reverse=False))(x)
    run = lambda x: op.declaration.reference({"x": x}, {"reverse": False})[0]
    for y in handler, jax.jit(jax.vmap(run))(x):
      distance = abs(np.asarray(y).astype(wide) - want)
      np.testing.assert_array_equal(distance <= bound, True)


class MoreBothWaysTest(_TestCase):

  @parameterized.parameters(
      (op, x) for op, dtypes in _OPS.items() for x in dtypes[1::2]
  )
  def test_one_bound(self, op, dtype):
    self.check_one_bound(op, dtype)


if __name__ == "__main__":
  absltest.main()
