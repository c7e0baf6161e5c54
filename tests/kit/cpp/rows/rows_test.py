# SPDX-License-Identifier: Apache-2.0
"""checks.h, row_map.h, parallel.h and sum_rows.h against numpy, exactly."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
import handlers
import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
handlers.register("rows/rows_ext", "kit_test_outer", "kit_test_sum")


def _call(target, shape, *operands, dtype=np.int64, **attributes):
  # XLA drops a call that only has empty results, if it has no side effect.
  return jax.ffi.ffi_call(
      target, jax.ShapeDtypeStruct(shape, dtype), has_side_effect=True
  )(*operands, **attributes)


def _outer(a, b, c, trailing_rank=0):
  """Calls kit_test_outer, and checks its result."""
  operands = a, b, c

  def core_last(x, core_rank):
    if x.ndim == core_rank:
      return x
    source = x.ndim - core_rank - trailing_rank
    return np.moveaxis(
        x, range(source, source + core_rank), range(-core_rank, 0)
    )

  a, b = core_last(a, 1), core_last(b, 1)
  expected = a[..., :, None] * b[..., None, :] + np.asarray(c)[..., None, None]
  source = expected.ndim - 2 - trailing_rank
  if expected.ndim > 2:
    expected = np.moveaxis(expected, (-2, -1), (source, source + 1))
  result = _outer_call(expected.shape, *operands, trailing_rank=trailing_rank)
  np.testing.assert_array_equal(result, expected)


def _outer_call(shape, *operands, trailing_rank=0, **kwargs):
  return _call(
      *("kit_test_outer", shape, *operands),
      **kwargs,
      trailing_rank=np.int64(trailing_rank),
  )


def _random_loops(rng):
  """Yields the loop dimensions of three operands."""
  smallest = 0 if rng.random() < 0.2 else 1
  loops = rng.integers(smallest, 4, rng.integers(0, 6))
  for _ in range(3):
    ones = rng.random(len(loops)) < 0.4
    operand = np.where(ones, 1, loops).tolist()
    yield () if rng.random() < 0.2 else tuple(operand)


def _random_cases():
  rng = np.random.default_rng(0)
  for _ in range(100):
    yield *_random_loops(rng), *rng.integers(0, 4, 2).tolist()


def _split(loops, trailing_rank):
  leading = len(loops) - trailing_rank if loops else 0
  return loops[:leading], loops[leading:]


def _values(*shape):
  """Returns an array in which every element is another one."""
  return np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape)


class RowsTest(parameterized.TestCase):

  @parameterized.parameters(*_random_cases())
  def test_loops_broadcast(self, a_loops, b_loops, c_loops, m, n):
    _outer(_values(*a_loops, m), _values(*b_loops, n), _values(*c_loops))

  @parameterized.parameters(*_random_cases())
  def test_trailing_loops(self, a_loops, b_loops, c_loops, m, n):
    rank = max(map(len, (a_loops, b_loops, c_loops)))
    for trailing_rank in range(1, rank + 1):
      a, a_trailing = _split(a_loops, trailing_rank)
      b, b_trailing = _split(b_loops, trailing_rank)
      _outer(
          _values(*a, m, *a_trailing),
          _values(*b, n, *b_trailing),
          _values(*c_loops),
          trailing_rank,
      )

  def test_every_pattern_of_three_dimensions(self):
    patterns = tuple(itertools.product((1, 2), repeat=3))
    for a, b in itertools.product(patterns, repeat=2):
      _outer(_values(*a, 1), _values(*b, 2), _values())

  def test_most_separate_dimensions(self):
    loops = (2, 1) * 4
    _outer(_values(*loops, 1), _values(*(2,) * 8, 1), _values(*loops[::-1]))
    # Neighbours that are alike merge, and sizes of 1 do not count.
    _outer(_values(*loops, 1, 1, 1), _values(*(2,) * 10, 1), _values())
    _outer(_values(*(2, 1) * 10, 1), _values(1), _values())

  # (batch_rank, loops of x, loops of w)
  @parameterized.parameters(
      (0, (), ()),
      (0, (5,), ()),
      (0, (600,), ()),
      (0, (0,), ()),
      (1, (2,), (2,)),
      (1, (2, 50), (2,)),
      (1, (2, 50), (1,)),
      (1, (1, 50), (1,)),
      (1, (2, 50), (2, 50)),
      (1, (2, 50), (2, 1)),
      (1, (3, 0), (3,)),
      (1, (0, 3), (0,)),
      (2, (2, 3, 40), (2, 3)),
      (2, (2, 3, 40), (1, 3)),
      (2, (2, 3, 40), ()),
      (3, (2, 3, 40), (2, 3, 40)),
  )
  def test_shared_operand(self, batch_rank, x_loops, w_loops):
    x = _values(*x_loops, 3)
    w = _values(*w_loops, 3)
    if len(w_loops) in (0, batch_rank):
      ones = (1,) * (len(x_loops) - len(w_loops))
      expected = x * w.reshape(*w_loops, *ones, 3)
      rows = tuple(range(batch_rank, len(x_loops)))
      expected = expected.sum(axis=rows)
    else:
      expected = x * w
    result = _call(
        *("kit_test_sum", expected.shape, x, w),
        batch_rank=np.int64(batch_rank),
        trailing_rank=np.int64(0),
    )
    np.testing.assert_array_equal(result, expected)

  # (batch_rank, loops of x, trailing loops of x)
  @parameterized.parameters(
      (0, (), (3,)),
      (0, (4,), (3, 2)),
      (1, (2, 5), (3,)),
      (1, (2, 5), (0,)),
      (1, (1, 5), (1, 3)),
      (2, (2, 5), (4,)),
  )
  def test_shared_operand_with_trailing_loops(
      self, batch_rank, loops, trailing
  ):
    x = _values(*loops, 3, *trailing)
    rank = len(loops)
    attributes = {
        "batch_rank": np.int64(batch_rank),
        "trailing_rank": np.int64(len(trailing)),
    }
    rows = (*range(batch_rank, rank), *range(rank + 1, x.ndim))
    for w_loops in {(), loops[:batch_rank]}:
      w = _values(*w_loops, 3)
      ones = (1,) * (rank - len(w_loops))
      w_rows = w.reshape(*w_loops, *ones, 3, *(1,) * len(trailing))
      expected = (x * w_rows).sum(axis=rows)
      result = _call("kit_test_sum", expected.shape, x, w, **attributes)
      np.testing.assert_array_equal(result, expected)
    for w_shape in {x.shape, (1,) * rank + (3, *trailing)}:
      w = _values(*w_shape)
      result = _call("kit_test_sum", x.shape, x, w, **attributes)
      np.testing.assert_array_equal(result, x * w)


class ChecksTest(parameterized.TestCase):

  def check(self, message, target, *args, **kwargs):
    with self.assertRaises(jax.errors.JaxRuntimeError) as raised:
      jax.block_until_ready(_call(target, *args, **kwargs))
    self.assertEqual(
        str(raised.exception), f"INVALID_ARGUMENT: {target}: {message}"
    )

  @parameterized.parameters(
      (((), (3,), ()), "a must have rank 1 or more, got shape []"),
      (
          ((2, 2), (3, 3), (2,)),
          "b must have leading dimensions that broadcast with [2], got shape"
          " [3, 3]",
      ),
      (
          ((2, 3, 2), (2, 4), ()),
          "b must have leading dimensions that broadcast with [2, 3], got shape"
          " [2, 4]",
      ),
      (
          ((2, 2), (5, 2, 3), ()),
          "b must have leading dimensions that broadcast with [2], got shape"
          " [5, 2, 3]",
      ),
      (
          ((2, 2), (1, 3), (5,)),
          "c must have leading dimensions that broadcast with [2], got shape"
          " [5]",
      ),
      (
          ((2, 0, 2), (2, 1, 3), (2, 7)),
          "c must have leading dimensions that broadcast with [2, 0], got shape"
          " [2, 7]",
      ),
      (((2, 2), (1, 3), ()), "y must have shape [2, 2, 3], got [4, 2, 3]"),
      (((2,), (3,), ()), "y must have shape [2, 3], got [4, 2, 3]"),
      (
          ((2, 1) * 4 + (2, 1), (2,) * 9 + (1,), ()),
          "a must be broadcast along fewer separate dimensions, got shape"
          " [2, 1, 2, 1, 2, 1, 2, 1, 2, 1]",
      ),
  )
  def test_shapes(self, shapes, message):
    operands = [_values(*shape) for shape in shapes]
    self.check(
        *(message, "kit_test_outer", (4, 2, 3), *operands),
        trailing_rank=np.int64(0),
    )

  # Each operand is [leading, core, trailing].
  @parameterized.parameters(
      (-1, ((2,), (3,), ()), "trailing_rank must be at least 0, got -1"),
      (2, ((2, 5), (3,), ()), "a must have rank 3 or more, got shape [2, 5]"),
      (
          2**62,
          ((2, 5), (3,), ()),
          f"a must have rank {2**62 + 1} or more, got shape [2, 5]",
      ),
      (
          *(1, ((4, 2, 5), (4, 3, 6), ())),
          "b must have leading and trailing dimensions that broadcast with [4,"
          " 5], got shape [4, 3, 6]",
      ),
      (
          *(1, ((4, 2, 5), (3, 5), ())),
          "b must have leading and trailing dimensions that broadcast with [4,"
          " 5], got shape [3, 5]",
      ),
      (
          *(1, ((4, 2, 5), (3,), (5,))),
          "c must have leading and trailing dimensions that broadcast with [4,"
          " 5], got shape [5]",
      ),
      (
          *(1, ((4, 2, 5), (3,), ())),
          "y must have shape [4, 2, 3, 5], got [4, 2, 3]",
      ),
      (
          *(9, ((2, *(2, 1) * 4, 2), (2,) * 10, ())),
          "a must be broadcast along fewer separate dimensions, got shape [2,"
          " 2, 1, 2, 1, 2, 1, 2, 1, 2]",
      ),
  )
  def test_trailing_shapes(self, trailing_rank, shapes, message):
    operands = [_values(*shape) for shape in shapes]
    shape = (2, 2, *(2,) * 9) if trailing_rank == 9 else (4, 2, 3)
    self.check(
        *(message, "kit_test_outer", shape, *operands),
        trailing_rank=np.int64(trailing_rank),
    )

  def test_dtypes(self):
    a, b, c = _values(2), _values(3), _values()
    outer = ("kit_test_outer", (2, 3))
    self.check(
        *("b must have dtype int64, got float32", *outer),
        *(a, b.astype(np.float32), c),
        trailing_rank=np.int64(0),
    )
    self.check(
        *("y must have dtype int64, got complex64", *outer, a, b, c),
        dtype=np.complex64,
        trailing_rank=np.int64(0),
    )

  def test_first_failure_is_reported(self):
    self.check(
        *("a must have dtype int64, got int32", "kit_test_outer", (9,)),
        *(_values().astype(np.int32), _values(), _values(7)),
        trailing_rank=np.int64(0),
    )

  @parameterized.parameters(
      (
          *(1, (2, 3, 4), (5, 4)),
          "w must have leading dimensions that broadcast with [2, 3], got shape"
          " [5, 4]",
      ),
      (
          *(2, (2, 3, 4), (3, 4)),
          "w must have leading dimensions that broadcast with [2, 3], got shape"
          " [3, 4]",
      ),
      (
          *(1, (2, 3, 4), (2, 3, 5)),
          "w must have size 4 in dimension 2, got shape [2, 3, 5]",
      ),
      (1, (2, 3, 4), (2, 4), "y must have shape [2, 4], got [6]"),
      (1, (2, 3, 4), (1, 1, 4), "y must have shape [2, 3, 4], got [6]"),
      (
          *(3, (2, 3, 4), ()),
          "batch_rank must be at least 0 and at most 2, the number of leading"
          " dimensions, got 3",
      ),
      (
          *(-1, (2, 3, 4), ()),
          "batch_rank must be at least 0 and at most 2, the number of leading"
          " dimensions, got -1",
      ),
      (0, (2, 3, 4), (), "w must have rank 1 or more, got shape []"),
  )
  def test_shared_operand(self, batch_rank, x, w, message):
    self.check(
        *(message, "kit_test_sum", (6,), _values(*x), _values(*w)),
        batch_rank=np.int64(batch_rank),
        trailing_rank=np.int64(0),
    )


if __name__ == "__main__":
  absltest.main()
