# SPDX-License-Identifier: Apache-2.0
"""call.h and compute_rows.h: operands that may be absent, and their gradients."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
import handlers
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
_TARGETS = ("kit_test_affine_fwd", "kit_test_affine_bwd")
_EMULATED = tuple(f"emulated_{target}" for target in _TARGETS)
handlers.register("rows/call_ext", *_TARGETS, *_EMULATED)

_D = 3
# The loops of x, and batch_rank.
_CASES = tuple(
    (loops, batch_rank)
    for loops in ((), (5,), (2, 70), (70, 9), (2, 0), (0, 3))
    for batch_rank in range(min(2, len(loops) + 1))
)
_PAIRS = (
    *(("float16", "float16"), ("float16", "float32")),
    *(("bfloat16", "bfloat16"), ("bfloat16", "float32")),
    *(("float32", "float32"), ("float64", "float64")),
)


def _values(*shape, dtype="float32"):
  """Returns small integers, with which floating-point numbers are exact."""
  count = np.prod(shape, dtype=int)
  return jnp.asarray(np.arange(count).reshape(shape) % 5 - 1, jnp.dtype(dtype))


def _call(target, results, operands, present, **attributes):
  # XLA drops a call that only has empty results, if it has no side effect.
  call = jax.ffi.ffi_call(
      target,
      [jax.ShapeDtypeStruct(shape, jnp.dtype(t)) for shape, t in results],
      has_side_effect=True,
  )
  attributes = {"least": np.float64(0.5)} | attributes
  return jax.block_until_ready(
      call(*operands, present=np.int64(present), **attributes)
  )


def _forward(x, scale=None, bias=None, prefix=""):
  """Calls kit_test_affine_fwd, and checks its result."""
  operands = [a for a in (x, scale, bias) if a is not None]
  present = 1 | (scale is not None) << 1 | (bias is not None) << 2
  x, scale, bias = (
      None if a is None else np.asarray(a, np.float64) for a in (x, scale, bias)
  )
  expected = x * (1 if scale is None else scale)
  expected = expected + (0 if bias is None else bias)
  results = [(expected.shape, operands[0].dtype)]
  (y,) = _call(f"{prefix}kit_test_affine_fwd", results, operands, present)
  np.testing.assert_array_equal(np.asarray(y, np.float64), expected)


def _backward(x, weights, batch_rank, dtypes, parts):
  """Calls kit_test_affine_bwd with `parts` on CUDA, and checks its results."""
  loops = x.shape[:-1]
  dy = _values(*x.shape, dtype=dtypes[0])[..., ::-1]
  operands = [x, *(w for w in weights if w is not None), dy]
  present = 1 | sum(2 << i for i, w in enumerate(weights) if w is not None)
  # As rows: [loops..., d].
  rows = [
      None
      if w is None
      else np.asarray(w, np.float64).reshape(
          w.shape[:-1] + (1,) * (x.ndim - w.ndim) + (_D,)
      )
      for w in weights
  ]
  g = np.asarray(dy, np.float64)
  expected = [g * (1 if rows[0] is None else rows[0])]
  workspaces = []
  for weight, gradient in zip(weights, (g * np.asarray(x, np.float64), g)):
    if weight is None:
      continue
    rank = weight.ndim - 1
    if rank < len(loops) or rank == batch_rank:
      gradient = gradient.sum(axis=tuple(range(batch_rank, len(loops))))
    expected.append(gradient)
    sums = "float64" if dtypes[0] == "float64" else "float32"
    workspaces.append(((*gradient.shape[:-1], parts, _D), sums))
  results = [(result.shape, dtypes[i > 0]) for i, result in enumerate(expected)]
  for target, extra in ((_TARGETS[1], []), (_EMULATED[1], workspaces)):
    actual = _call(
        *(target, results + extra, operands, present),
        batch_rank=np.int64(batch_rank),
    )
    for result, array in zip(expected, actual):
      np.testing.assert_array_equal(np.asarray(array, np.float64), result)


class CallTest(parameterized.TestCase):

  @parameterized.parameters(*_PAIRS)
  def test_forward(self, dtype, weight):
    for shape in ((_D,), (4, _D), (2, 300, _D), (0, _D), (3, 0)):
      x = _values(*shape, dtype=dtype)
      scale = _values(shape[-1], dtype=weight)
      bias = _values(*shape, dtype=weight)
      for prefix in ("", "emulated_"):
        _forward(x, prefix=prefix)
        _forward(x, scale, prefix=prefix)
        _forward(x, None, bias, prefix=prefix)
        _forward(x, scale, bias, prefix=prefix)
        if x.ndim > 1:
          _forward(x[..., :1, :], scale, bias, prefix=prefix)

  @parameterized.parameters(*_CASES)
  def test_backward(self, loops, batch_rank):
    x = _values(*loops, _D)
    shapes = {(_D,), (*loops[:batch_rank], _D), x.shape}
    each = (None, *(_values(*shape) for shape in sorted(shapes)))
    for weights in itertools.product(each, repeat=2):
      _backward(x, weights, batch_rank, ("float32", "float32"), parts=4)

  @parameterized.parameters(*_PAIRS)
  def test_backward_dtypes(self, dtype, weight):
    x = _values(4, _D, dtype=dtype)
    shared = _values(_D, dtype=weight)
    own = _values(4, _D, dtype=weight)
    for weights in ((shared, own), (own, None), (shared, None), (None, None)):
      _backward(x, weights, 0, (dtype, weight), parts=1)

  def test_no_columns(self):
    x = jnp.zeros((4, 0))
    for target, extra in ((_TARGETS[1], []), (_EMULATED[1], [(2, 0), (2, 0)])):
      _call(
          *(target, [(s, x.dtype) for s in ((4, 0), (0,), (0,), *extra)]),
          *((x, x[0], x[0], x), 7),
          batch_rank=np.int64(0),
      )


class ErrorsTest(parameterized.TestCase):

  def check(self, message, target, *args, **attributes):
    with self.assertRaises(jax.errors.JaxRuntimeError) as raised:
      _call(target, *args, **attributes)
    named = target.removeprefix("emulated_")
    self.assertEqual(
        str(raised.exception), f"INVALID_ARGUMENT: {named}: {message}"
    )

  @parameterized.parameters(
      *((present, 1) for present in (0, 2, 6, 8, 9, 2**62, -1, -(2**63))),
      *((present, 3) for present in (6, 15, -1)),
  )
  def test_bits_of_present(self, present, count):
    x = _values(_D)
    message = f"present must have bit 0 and no others but bit 1 and bit 2, got {present}"
    results = [(x.shape, x.dtype)]
    self.check(message, _TARGETS[0], results, [x] * count, present)
    self.check(
        *(message, _TARGETS[1], results, [x] * (count + 1), present),
        batch_rank=np.int64(0),
    )

  @parameterized.parameters(
      (1, 0), (1, 2), (3, 1), (5, 1), (3, 3), (7, 2), (7, 4)
  )
  def test_number_of_operands(self, present, count):
    x = _values(_D)
    expected = present.bit_count()
    self.check(
        f"present must match the number of operands, {expected} by its bits,"
        f" got {count}",
        *(_TARGETS[0], [(x.shape, x.dtype)], [x] * count, present),
    )
    self.check(
        f"present must match the number of operands, {expected + 1} by its"
        f" bits, got {count + 1}",
        *(_TARGETS[1], [(x.shape, x.dtype)], [x] * (count + 1), present),
        batch_rank=np.int64(0),
    )

  @parameterized.parameters(
      *(("", p, p.bit_count(), c) for p in (1, 3, 7) for c in (0, 1, 2, 3, 4)),
      *(
          ("emulated_", p, 2 * p.bit_count() - 1, c)
          for p in (1, 3, 7)
          for c in range(7)
      ),
  )
  def test_number_of_results(self, prefix, present, expected, count):
    if count == expected:
      return
    x = _values(_D)
    self.check(
        f"present must match the number of results, {expected} by its bits,"
        f" got {count}",
        *(prefix + _TARGETS[1], [(x.shape, x.dtype)] * count),
        *([x] * (present.bit_count() + 1), present),
        batch_rank=np.int64(0),
    )

  @parameterized.parameters(
      (
          *("bfloat16", "float64", None),
          "scale must have dtype bfloat16 or float32, got float64",
      ),
      (
          *("bfloat16", "float16", None),
          "scale must have dtype bfloat16 or float32, got float16",
      ),
      (
          *("float64", "float32", None),
          "scale must have dtype float64, got float32",
      ),
      (
          *("bfloat16", "bfloat16", "float32"),
          "bias must have dtype bfloat16, got float32",
      ),
      (
          *("float16", "float32", "float16"),
          "bias must have dtype float32, got float16",
      ),
      (
          *("float32", None, "float16"),
          "bias must have dtype float32, got float16",
      ),
      (
          *("int32", "int32", None),
          "x must have dtype float16, bfloat16, float32 or float64, got int32",
      ),
  )
  def test_dtypes_of_weights(self, dtype, scale, bias, message):
    x = _values(2, _D, dtype=dtype)
    weights = [_values(_D, dtype=w) for w in (scale, bias) if w is not None]
    present = 1 | (scale is not None) << 1 | (bias is not None) << 2
    self.check(message, _TARGETS[0], [((2, _D), dtype)], [x, *weights], present)
    self.check(
        *(message, _TARGETS[1]),
        *([((2, _D), dtype)] * (1 + len(weights)), [x, *weights, x], present),
        batch_rank=np.int64(0),
    )

  # (results by index, message), of x [2, 4, d], batch_rank 1
  @parameterized.parameters(
      (
          {1: ((2, _D), "float64")},
          "dscale must have dtype float32, got float64",
      ),
      ({1: ((_D,), "float32")}, "dscale must have shape [2, 3], got [3]"),
      (
          {2: ((2, _D), "float32")},
          "dbias must have shape [2, 4, 3], got [2, 3]",
      ),
      (
          {3: ((2, 5, _D), "bfloat16")},
          "dscale_workspace must have dtype float32, got bfloat16",
      ),
      (
          {3: ((2, 4, 5, _D), "float32")},
          "dscale_workspace must have shape [2, ?, 3], got [2, 4, 5, 3]",
      ),
      (
          {3: ((2, 5, 2), "float32")},
          "dscale_workspace must have shape [2, 5, 3], got [2, 5, 2]",
      ),
      (
          {4: ((2, 5, _D), "float32")},
          "dbias_workspace must have shape [2, 4, ?, 3], got [2, 5, 3]",
      ),
      (
          {4: ((2, 4, 0, _D), "float32")},
          "dbias_workspace must have at least one part, got 0",
      ),
  )
  def test_gradients_and_workspaces(self, wrong, message):
    x = _values(2, 4, _D)
    results = dict(
        enumerate(
            (
                *(((2, 4, _D), "float32"), ((2, _D), "float32")),
                *(((2, 4, _D), "float32"), ((2, 5, _D), "float32")),
                ((2, 4, 1, _D), "float32"),
            )
        )
    )
    args = ([x, _values(1, _D), x, x], 7)
    _call(_EMULATED[1], results.values(), *args, batch_rank=np.int64(1))
    results |= wrong
    self.check(
        *(message, _EMULATED[1], results.values(), *args),
        batch_rank=np.int64(1),
    )
    if max(wrong) < 3:
      self.check(
          *(message, _TARGETS[1], [results[i] for i in range(3)], *args),
          batch_rank=np.int64(1),
      )

  @parameterized.parameters(0.49, -np.inf, np.nan)
  def test_at_least(self, value):
    x = _values(_D)
    self.check(
        f"least must be at least 0.5, got {value}",
        *(_TARGETS[0], [(x.shape, x.dtype)], [x], 1),
        least=np.float64(value),
    )


if __name__ == "__main__":
  absltest.main()
