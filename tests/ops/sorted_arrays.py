# SPDX-License-Identifier: Apache-2.0
"""Arrays to sort, and their order: that of jax.lax.sort on the CPU."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from absl.testing import absltest
import draws
from hypothesis import strategies
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing import Bounded
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH

# Around the sizes where the algorithm changes: networks for small ones, from
# 64 Ki on several threads for few rows, from 128 Ki on counting of 16 bits.
_SIZES = (0, 1, 2, 15, 16, 17, 255, 2047, 2049, 32767, 32769, 65537, 131073)
_AXES = (
    *(((3, 33), -1), ((33, 3), 0), ((2, 40, 70), 1), ((2, 3, 1), -1)),
    *(((3, 40_000), 1), ((40_000, 3), 0), ((70_000, 2), 0), ((300, 256), 1)),
)


def shapes(dtype: Any) -> Sequence[tuple[tuple[int, ...], int]]:
  """Returns shapes with the axis to sort along."""
  if THOROUGH or dtype == np.float32:
    return [*(((size,), 0) for size in _SIZES), *_AXES]
  width = jnp.dtype(dtype).itemsize
  few = [((300,), 0), ((2_500, 3), 0), ((40_000,), 0)]
  few.append(((131_073 if width <= 2 else 70_000,), 0))
  if width == 8:
    few.append(((70_000, 2), 0))  # Columns: in one thread each.
  return few


def results(
    function: Callable[..., jax.Array],
    dtype: Any,
    shapes: Sequence[tuple[tuple[int, ...], int]],
) -> Iterator[tuple[np.ndarray, int, bool, np.ndarray]]:
  """Yields x, axis, descending and function(x, axis, descending=descending).

  It compiles one program, which takes less time than one for each call.

  Args:
    function: what sorts.
    dtype: of x.
    shapes: of x, with axes.
  """
  ways = [
      (i, axis, descending)
      for i, (_, axis) in enumerate(shapes)
      for descending in (False, True)
  ]
  program = jax.jit(
      lambda xs: [
          function(xs[i], axis, descending=descending)
          for i, axis, descending in ways
      ]
  )
  for xs in zip(*(arrays(dtype, shape) for shape, _ in shapes)):
    for (i, axis, descending), y in zip(ways, program(xs)):
      yield xs[i], axis, descending, np.asarray(y)


def partitions(
    op: Callable[..., jax.Array], dtype: Any
) -> Iterator[tuple[Sequence[np.ndarray], Sequence[Any], Sequence[jax.Array]]]:
  """Yields arrays, calls (which array, kth, axis) and what `op` returns."""
  few = shapes(dtype)
  calls = [
      (i, i * 7919 % shape[axis], axis)
      for i, (shape, axis) in enumerate(few)
      if shape[axis]
  ]
  program = jax.jit(
      lambda xs: [op(xs[i], kth=kth, axis=axis) for i, kth, axis in calls]
  )
  for xs in zip(*(arrays(dtype, shape) for shape, _ in few)):
    yield xs, calls, program(xs)


def many(*others: Any) -> Callable[[Any], Any]:
  """Runs a test with many vectors, and draws of `others`: always the same."""
  return draws.many(_vectors(), *others)


@strategies.composite
def _vectors(draw):
  """Draws short vectors of any bits, and those above of any size."""
  dtype = jnp.dtype(draw(strategies.sampled_from(kit.ORDERED)))
  if draw(strategies.booleans()):
    most = 1 if dtype == bool else np.iinfo(unsigned(dtype)).max
    bits = strategies.lists(strategies.integers(0, int(most)), max_size=40)
    return np.array(draw(bits), unsigned(dtype)).view(dtype)
  size = draw(strategies.sampled_from(_SIZES)) + draw(strategies.integers(0, 4))
  kinds = [
      *arrays(dtype, (size,)),
      *(x.astype(dtype) for _, x in orders(size + 1)),
  ]
  return kinds[draw(strategies.integers(0, len(kinds) - 1))]


def unsigned(dtype: Any) -> np.dtype:
  return np.dtype(f"uint{8 * jnp.dtype(dtype).itemsize}")


def equal_keys(x: np.ndarray) -> np.ndarray:
  """Returns unsigned integers that are in order as the elements of x are."""
  if not jnp.issubdtype(x.dtype, jnp.floating):
    return x
  bits = x.view(unsigned(x.dtype))
  info = jnp.finfo(x.dtype)
  sign = bits.dtype.type(1 << (info.bits - 1))
  keys = np.where(bits & sign, ~bits, bits | sign)
  least = 0 if x.dtype == np.float16 else float(info.smallest_normal)
  wide = x.astype(np.float64)
  zero = (wide == 0) | (np.abs(wide) < least)
  keys = np.where(zero, sign, keys)
  return np.where(np.isnan(wide), ~bits.dtype.type(0), keys)


def stable_order(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
  """Returns the indices; those of equal elements ascend."""
  keys = equal_keys(x)
  if not descending:
    return np.argsort(keys, axis, kind="stable")
  order = np.argsort(np.flip(keys, axis), axis, kind="stable")
  return np.flip(x.shape[axis] - 1 - order, axis)


def plain(x: Any) -> np.ndarray:
  """Returns an array that may be one with error bounds."""
  if not isinstance(x, Bounded):
    return np.asarray(x)
  return x.value.astype(np.float64).astype(x.storage)


def kept(x: Bounded, value: np.ndarray) -> Bounded:
  """Returns elements of x, with error bounds."""
  # A subnormal number is kept, where arithmetic takes it for zero.
  error = np.where(value == 0, jnp.finfo(x.storage).smallest_normal, 0)
  return Bounded(value, x.dtype, error)


def partition_order(x: np.ndarray, kth: int, axis: int) -> np.ndarray:
  """Returns the indices; less, equal and greater elements keep their order.

  The last element is that of all larger `kth`, too.
  """
  if not x.size:
    return np.zeros(x.shape, int)
  kth = min(kth, x.shape[axis] - 1)
  keys = equal_keys(x)
  pivot = np.take(np.sort(keys, axis), [kth], axis)
  side = (keys >= pivot).astype(np.int8) + (keys > pivot)
  return np.argsort(side, axis, kind="stable")


class HandlerTestCase(absltest.TestCase):
  """Tests of an op's handler, for all dtypes."""

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))


class SortTestCase(HandlerTestCase):
  """Tests of a function that sorts. Subclasses have, beside `check`:

  Attributes:
    function: the public function.
    namesake: that of jax.numpy.
  """

  def check(
      self,
      x: np.ndarray,
      axis: int,
      descending: bool,
      y: np.ndarray,
      label: str,
  ):
    """Fails unless y is right."""
    raise NotImplementedError

  def _check(self, x, axis, descending, y):
    label = f"{x.dtype}{x.shape}, axis={axis}, descending={descending}"
    self.check(x, axis, descending, np.asarray(y), label)

  def test_namesake(self):
    """What is right here is what jax.numpy returns."""
    for dtype in kit.ORDERED:
      for result in results(self.namesake, dtype, [((40, 3), 0)]):
        self._check(*result)

  def test_bits(self):
    for dtype in kit.ORDERED:
      for result in results(self.function, dtype, shapes(dtype)):
        self._check(*result)

  def test_hard_orders(self):
    for count in (1000, 200_000):
      for dtype in (np.int32, np.float64):
        for _, x in orders(count):
          x = x.astype(dtype)
          self._check(x, 0, False, self.function(x))

  def test_many(self):
    @many(strategies.booleans())
    def run(x, descending):
      y = self.function(x, descending=descending)
      self._check(x, 0, descending, y)

    run()


class PartitionTestCase(HandlerTestCase):
  """Tests of an op that partitions. Subclasses have, beside `check`:

  Attributes:
    op: the op itself, whose kth is that of the last element or more, too.
    function: the public function.
  """

  def check(self, x: Any, order: np.ndarray, axis: int, y: Any, label: str):
    """Fails unless y is right, given the indices that partition x."""
    raise NotImplementedError

  def _check(self, x, kth, axis, y):
    label = f"{x.dtype}{x.shape}, kth={kth}, axis={axis}"
    self.check(x, partition_order(x, kth, axis), axis, np.asarray(y), label)

  def test_bits(self):
    for dtype in kit.ORDERED:
      for xs, calls, ys in partitions(self.op, dtype):
        for (i, kth, axis), y in zip(calls, ys):
          self._check(xs[i], kth, axis, y)

  def test_many(self):
    @many(strategies.floats(0, 1, exclude_max=True))
    def run(x, place):
      if x.size:
        kth = int(place * x.size)
        self._check(x, kth, 0, self.op(x, kth=kth))

    run()

  def test_hard_orders(self):
    for count in (1000, 200_000):
      for dtype in (np.int32, np.float64):
        for _, x in orders(count):
          x = x.astype(dtype)
          for kth in (0, count // 3, count - 1):
            self._check(x, kth, 0, self.function(x, kth))


def sorted_bits(
    x: np.ndarray, axis: int, descending: bool, one_nan: bool
) -> np.ndarray:
  """Returns x sorted to the bit, as unsigned integers."""
  y = np.take_along_axis(x, stable_order(x, axis, False), axis)
  y = np.flip(y, axis) if descending else y
  bits = y.view(unsigned(x.dtype))
  if x.dtype == jnp.bfloat16 and one_nan:  # NaNs keep their sign alone.
    nan = np.isnan(y.astype(np.float32))
    bits = np.where(nan, bits & 0x8000 | 0x7FC0, bits)
  return bits


def arrays(dtype: Any, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
  """Yields arrays of any bits, of few values, and of zeros and NaNs."""
  dtype = jnp.dtype(dtype)
  rng = np.random.default_rng([*dtype.name.encode(), *shape])
  if dtype == bool:
    yield rng.integers(0, 2, shape).astype(bool)
    return
  own = unsigned(dtype)
  count = int(np.prod(shape))
  bits = np.frombuffer(rng.bytes(count * own.itemsize), own).reshape(shape)
  yield bits.view(dtype)
  yield np.full(shape, 3, dtype)
  few = rng.integers(-2, 3, shape).astype(dtype)
  if not jnp.issubdtype(dtype, jnp.floating):
    yield few
    # 64 bits do not hold such a key and an index.
    yield np.where(rng.random(shape) < 0.1, bits.view(dtype), few)
    return
  info = jnp.finfo(dtype)
  sign = bits & own.type(1 << (info.bits - 1))
  subnormal = sign | (bits & own.type((1 << info.nmant) - 1))
  infinity = np.array(np.inf, dtype).view(own)
  kinds = [bits, subnormal, sign, bits | infinity, sign | infinity]
  choice = rng.integers(0, len(kinds) + 1, shape)
  yield np.choose(choice, [*kinds, few.view(own)]).astype(own).view(dtype)
  yield np.choose(choice % 2, [sign, few.view(own)]).astype(own).view(dtype)
  yield np.where(rng.random(shape) < 0.5, np.nan, few).astype(dtype)


def orders(count: int) -> Iterator[tuple[str, np.ndarray]]:
  """Yields sequences that are hard for some ways to sort."""
  rng = np.random.default_rng(count)
  up = np.arange(count)
  yield "sorted", up
  yield "reversed", up[::-1].copy()
  yield "organ pipe", np.minimum(up, up[::-1])
  yield "one far from all others", np.where(up == count // 2, 2**31 - 1, 0)
  yield "far from even", (2**31 * rng.random(count) ** 40).astype(np.int64)
  even = np.isin(up, (np.arange(4096) / 4096 * count).astype(int))
  yield "an even sample misleads", np.where(even, up + 2 * count, up)
  yield "median of three killer", _killer(count)


def _killer(count):
  """Returns Musser's sequence: the median of three is always a small one."""
  half = count // 2
  sequence = np.arange(count)
  i = np.arange(half)
  sequence[:half] = np.where(i % 2 == 0, i, half + i - (half % 2))
  sequence[half : 2 * half] = 2 * i + 1
  return sequence
