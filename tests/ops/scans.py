# SPDX-License-Identifier: Apache-2.0
"""Tests for all ops that scan an array: running sums and their like."""

import functools
import itertools

from absl.testing import absltest
import draws
from hypothesis import strategies
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing import Bounded
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH

# Around vectors, pieces of 1024, blocks of 16 Ki, and rows that threads share;
# short rows, in two tiles.
_SIZES = (0, 1, 2, 15, 17, 33, 1023, 1025, 16384, 16385, 65537, 200_001)
_SHORT = (700, 7), 1
_BLOCKS = (2, 40_000), 1  # of rows that threads do not share
_COLUMNS = (9, 1030), 0  # more than are scanned at once
_AXES = (
    _SHORT,
    _BLOCKS,
    _COLUMNS,
    ((2, 1, 3), 1),
    ((3, 40), 1),
    ((40, 3), 0),
    ((2, 9, 1030), 1),
    ((2, 3, 1), 1),
)

# Where the tiles of a GPU's blocks meet: threads have 8 steps, a warp has 256 of
# a row, and a block has 4096, or 128 of 32 columns. Blocks share the last ones.
_TILES = tuple(((n,), 0) for n in (1, 255, 257)) + (((0, 3), 0), ((9, 35), 0))
_LARGE_TILES = (
    *(((n,), 0) for n in (4095, 4096, 4097)),
    *(((n, 33), 0) for n in (127, 128, 129)),
    ((1, 1100, 3), 1),
    ((33_000,), 0),
)
_OF_EACH_SIZE = frozenset(map(jnp.dtype, ("i1", jnp.bfloat16, "f4", "f8")))


def accumulate(ufunc, x, axis=-1, *, reverse):
  """Returns NumPy's scan, in the dtype of x."""
  x = np.flip(x, axis) if reverse else x
  y = ufunc.accumulate(x, axis, dtype=x.dtype)
  return np.flip(y, axis) if reverse else y


def at_axis(namesake):
  """Returns a function of jax.lax, made to take negative axes."""

  def function(operand, axis=-1, reverse=False):
    return namesake(operand, axis % max(1, np.ndim(operand)), reverse)

  return function


def case(op, definition, namesake, values=None, **others):
  """Returns the case of a scan; `namesake` is of jax.lax."""
  return Case(
      op,
      [Operand((16,), values=values)],
      attributes={"reverse": True},
      definition=definition,
      namesake=at_axis(namesake),
      trailing=1,
      **others,
  )


def definition(ufunc, errors):
  """Returns a scan, with the errors that it may have of exact operands."""

  def function(x, *, reverse):
    with np.errstate(invalid="ignore"):
      if not isinstance(x, Bounded):
        return accumulate(ufunc, x, reverse=reverse)
      y = accumulate(ufunc, x.value, reverse=reverse)
    return Bounded(y, x.dtype, errors(x.value, y, x.dtype, -1, reverse))

  return function


def extremum_case(op, ufunc, arg, namesake):
  """Returns the case of cummax or cummin."""

  def definition(x, *, reverse):
    if not isinstance(x, Bounded):
      return accumulate(ufunc, x, reverse=reverse)
    y = accumulate(ufunc, x.value, reverse=reverse)
    # A subnormal number is kept, where arithmetic takes it for zero.
    error = np.where(y == 0, jnp.finfo(x.storage).smallest_normal, 0)
    return Bounded(y, x.dtype, error)

  reference = functools.partial(_first(arg), reverse=True)
  return case(op, definition, namesake, reference=reference)


def _first(arg):
  """Returns a definition that differentiates the first of equal elements."""

  def function(x, *, reverse):
    x = jnp.flip(x) if reverse else x
    place = jnp.arange(x.shape[0])
    fill = jnp.inf if arg is jnp.argmin else -jnp.inf
    seen = jnp.where(place <= place[:, None], x, fill)
    y = x[arg(seen, axis=1)] if x.size else x
    return jnp.flip(y) if reverse else y

  return function


def _vjp(function):
  """In one program: outside of jit, each step of a derivative would be one."""
  return jax.jit(lambda dy, *xs: jax.vjp(function, *xs)[1](dy))


class ScanTest(absltest.TestCase):
  """Subclasses have `op`, `ufunc`, `values`, and `errors` of exact results."""

  dtypes = kit.NUMBERS

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))

  def array(self, dtype, shape):
    rng = np.random.default_rng([*jnp.dtype(dtype).name.encode(), *shape])
    if jnp.issubdtype(dtype, jnp.integer):
      info = np.iinfo(dtype)
      return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return self.values(rng, shape).astype(dtype)

  def calls(self, dtype):
    every = [*(((size,), 0) for size in _SIZES), *_AXES]
    few = [_SHORT, ((300,), 0), ((20, 40), 0), ((70_000,), 0)]
    few += [_BLOCKS, _COLUMNS]
    for shape, axis in every if THOROUGH or dtype == np.float32 else few:
      for reverse in (False, True):
        yield self.array(dtype, shape), axis, reverse

  def tiles(self, dtype):
    places = _TILES + _LARGE_TILES * (jnp.dtype(dtype) in _OF_EACH_SIZE)
    for i, (shape, axis) in enumerate(places):
      yield self.array(dtype, shape), axis, i % 2 == 0

  def test_tiles(self):
    self._check_calls(self.tiles)

  def test_definition(self):
    self._check_calls(self.calls)

  def _check_calls(self, calls_of):
    for dtype in self.dtypes:
      calls = list(calls_of(dtype))
      # One program: to compile one for each call takes most of the time.
      results = jax.jit(lambda calls=calls: [self.op(*call) for call in calls])
      for (x, axis, reverse), y in zip(calls, results(), strict=True):
        self.assertEqual(y.dtype, x.dtype)
        message = f"{x.dtype}{x.shape}, axis={axis}, reverse={reverse}"
        self.check_result(x, np.asarray(y), axis, reverse, message)

  @draws.many(strategies.data(), draws.axes())
  def test_draws(self, data, call):
    """Of any type and shape, with zeros."""
    shape, axis, reverse = call
    x = self.array(data.draw(strategies.sampled_from(self.dtypes)), shape)
    x.flat[data.draw(draws.zeros(x.size))] = 0
    # Unlike jax.lax, NumPy and ours take negative axes.
    y = np.asarray(self.op(x, axis, reverse))
    self.check_result(x, y, axis, reverse, f"{x!r}, {axis}, {reverse}")

  def check_result(self, x, y, axis, reverse, message):
    if jnp.issubdtype(x.dtype, jnp.integer):
      want = accumulate(self.ufunc, x, axis, reverse=reverse)
      np.testing.assert_array_equal(y, want, message)
      return
    wide = x.astype(np.longdouble)
    want = accumulate(self.ufunc, wide, axis, reverse=reverse)
    errors = self.errors(wide, want, jnp.dtype(x.dtype), axis, reverse)
    distance = abs(y.astype(wide.dtype) - want)
    np.testing.assert_array_equal(distance <= errors, True, message)

  def test_one_row_on_two_devices(self):
    """The errors are those of a piece, of what comes before, and of the sum."""
    x = abs(self.array(np.float32, (3, 64)))
    axes = jax.sharding.AxisType.Explicit
    mesh = jax.make_mesh((2,), ("steps",), axis_types=(axes,))
    spec = jax.sharding.PartitionSpec(None, "steps")
    placed = jax.device_put(x, jax.sharding.NamedSharding(mesh, spec))
    both = jax.jit(lambda x: [self.op(x, 1, reverse) for reverse in (0, 1)])
    for reverse, y in enumerate(both(placed)):
      wide = x.astype(np.longdouble)
      want = accumulate(self.ufunc, wide, 1, reverse=reverse)
      errors = self.errors(wide, want, np.dtype(np.float32), 1, reverse)
      distance = abs(np.asarray(y).astype(wide.dtype) - want)
      np.testing.assert_array_equal(distance <= 3 * errors, True)

  def test_one_row_as_many(self):
    """Whether threads share a row or not, it has the same bits."""
    for dtype in {np.float32, np.int32, jnp.bfloat16}.intersection(
        x.type for x in self.dtypes
    ):
      x = self.array(dtype, (100_000,))
      for reverse in (False, True):
        many = self.op(np.stack([x] * 16), 1, reverse)
        one = np.asarray(self.op(x, 0, reverse))
        for row in np.asarray(many)[::5]:
          self.assertEqual(row.tobytes(), one.tobytes())

  def test_not_a_number(self):
    for dtype in kit.FLOATING:
      for size, place in ((50, 20), (70_000, 40_000)):
        x = np.ones(size, dtype)
        x[place] = -np.nan
        nan = np.isnan(np.asarray(self.op(x)).astype(np.float32))
        np.testing.assert_array_equal(nan, np.arange(size) >= place)
        nan = np.isnan(np.asarray(self.op(x, 0, True)).astype(np.float32))
        np.testing.assert_array_equal(nan, np.arange(size) <= place)

  def test_what_is_left_to_jax(self):
    namesake = getattr(jax.lax, self.op.__name__)
    z = np.array([2, 3], np.complex64)
    if self.op.__name__ in ("cumsum", "cumprod"):
      np.testing.assert_array_equal(self.op(z), namesake(z))
      np.testing.assert_array_equal(self.op(z, -1), namesake(z))
    for wrong in ((z, 1), (np.ones(3), 2), ("x",)):
      with self.assertRaises(Exception) as theirs:
        namesake(*wrong)
      with self.assertRaises(type(theirs.exception)):
        self.op(*wrong)


class SplitScanTest(ScanTest):
  """Subclasses have `start_type`, of a dtype, of what may come before."""

  def start_type(self, dtype):
    return dtype

  def test_from_a_start(self):
    """What comes before an array is like one more element."""
    # Several rows and columns, pieces of columns, rows that threads share, and
    # short ones.
    self._check_starts(
        self.dtypes,
        ((301,), 0), ((1,), 0), ((3, 2, 5), 1), ((3, 41), 1), ((2, 31, 1100), 1),
        ((2, 90_000), 1), _BLOCKS, ((700, 8), 1),
    )  # fmt: skip

  def test_tiles_from_a_start(self):
    few = _OF_EACH_SIZE.intersection(map(jnp.dtype, self.dtypes))
    self._check_starts(few, ((4100,), 0), ((3, 9, 35), 1), ((1, 1101, 3), 1))

  def _check_starts(self, dtypes, *shapes):
    """The first element of an axis is the start."""
    scan_from = kit.ops_of(self.op)[1]
    for dtype in dtypes:
      calls = []
      for (shape, axis), reverse in itertools.product(shapes, (False, True)):
        x = self.array(dtype, shape)
        parts = np.split(x, [-1 if reverse else 1], axis)
        rest, first = parts if reverse else parts[::-1]
        start = first.squeeze(axis).astype(self.start_type(dtype))
        calls.append((x, axis, reverse, first, rest, start))
      run = lambda calls=calls: [
          scan_from(rest, start, axis=axis, reverse=reverse)
          for _, axis, reverse, _, rest, start in calls
      ]
      for (x, axis, reverse, first, *_), y in zip(calls, jax.jit(run)()):
        self.assertEqual(y.dtype, x.dtype)
        whole = [y, first] if reverse else [first, y]
        message = f"{x.dtype}{x.shape}, axis={axis}, reverse={reverse}"
        self.check_result(
            x, np.concatenate(whole, axis), axis, reverse, message
        )

  def test_gradient_of_a_start(self):
    """It is that of the first of one more element."""
    scan_from = kit.ops_of(self.op)[1]
    x, dy = self.array(np.float64, (3, 20)), self.array(np.float64, (3, 19))
    for reverse in (False, True):
      own = slice(0, -1) if reverse else slice(1, None)
      place = -1 if reverse else 0
      (wanted,) = _vjp(lambda x: self.op(x, 1, reverse)[:, own])(dy, x)
      run = functools.partial(scan_from, axis=1, reverse=reverse)
      dx, dstart = _vjp(run)(dy, x[:, own], x[:, place])
      np.testing.assert_allclose(dx, wanted[:, own], rtol=1e-12, atol=1e-12)
      np.testing.assert_allclose(
          dstart, wanted[:, place], rtol=1e-12, atol=1e-12
      )

  def test_handler_refuses_other_starts(self):
    target = kit.ops_of(self.op)[1].declaration.forward_target
    x = np.ones((3, 4), np.float32)
    own, other = self.start_type(x.dtype), np.int8
    for start in (
        np.ones(4, own), np.ones(1, own), np.ones((), own),
        np.ones((3, 1), own), np.ones(3, other),
    ):  # fmt: skip
      call = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct(x.shape, x.dtype))
      for reverse in np.bool_([False, True]):
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "start must"):
          call(x, start, reverse=reverse, trailing_rank=np.int64(0))


class ExtremumTest(SplitScanTest):
  """Subclasses have `sign`: that of what the op is to find."""

  def values(self, rng, shape):
    return rng.normal(size=shape) * 100

  def errors(self, *_):
    return 0

  def test_not_a_number_in_a_piece(self):
    """A device tells the others, wherever in its piece the NaN is.

    XLA's maximum over rows loses it: it takes vectors for this.
    """
    both = jax.jit(
        lambda x, axis: [self.op(x, axis, reverse) for reverse in (0, 1)],
        static_argnums=1,
    )
    kinds = jax.sharding.AxisType.Auto, jax.sharding.AxisType.Explicit
    dtypes = kit.FLOATING if THOROUGH else (np.float32, jnp.bfloat16)
    for dtype, (axis, kind) in itertools.product(dtypes, enumerate(kinds)):
      x = self.array(dtype, (64, 1024))
      x[1, 9] = x[20, 700] = np.nan
      spec = jax.sharding.PartitionSpec(*[None] * axis, "a")
      mesh = devices.mesh(kind, a=8)
      placed = jax.device_put(x, jax.sharding.NamedSharding(mesh, spec))
      for reverse, y in enumerate(both(placed, axis)):
        want = accumulate(self.ufunc, np.float64(x), axis, reverse=reverse)
        np.testing.assert_array_equal(
            np.float64(y), want, f"{x.dtype} {kind} {axis=} {reverse=}"
        )

  def test_infinities(self):
    x = np.array([-np.inf, np.inf, 1, -np.inf, np.inf], np.float32)
    np.testing.assert_array_equal(self.op(x), self.ufunc.accumulate(x))

  def test_the_first_of_equal_elements_has_the_gradient(self):
    x = np.array([1.0, 3, 3, 2, 3, 4, 4]) * self.sign
    g = 2.0 ** np.arange(7)
    grad = jax.grad(lambda x, reverse: jnp.dot(g, self.op(x, 0, reverse)))
    np.testing.assert_array_equal(grad(x, False), [1, 30, 0, 0, 0, 96, 0])
    np.testing.assert_array_equal(grad(x, True), [0, 0, 0, 0, 0, 0, 127])

  def test_gradient_of_few_and_many_elements(self):
    """With ties, along each axis; NaN is the last extremum."""
    rng = np.random.default_rng(5)
    shape = (5, 60)
    x = rng.integers(0, 5, shape) * 1.0 + 3 * np.arange(shape[1]) // 10
    x[[0, 0, 1], [40, 41, 0]] = np.nan
    xs = [x, x[:, :6], x.T, x.T[:6]]
    dys = [rng.normal(size=x.shape) for x in xs]
    across = [0, 0, 1, 1]

    def scans(xs, reverse):
      return [
          self.op(x, axis=1 - axis, reverse=reverse)
          for x, axis in zip(xs, across)
      ]

    for reverse in (False, True):
      run = functools.partial(scans, reverse=reverse)
      (dxs,) = _vjp(run)(dys, [x * self.sign for x in xs])
      for x, dy, dx, axis in zip(xs, dys, dxs, across):
        lines = [x, dy, want := np.zeros(x.shape)]
        lines = [np.moveaxis(a, axis, 0) for a in lines]
        for own, given, to in zip(*lines):
          steps = range(len(own))
          place = steps[-1] if reverse else 0
          for i in reversed(steps) if reverse else steps:
            # That x is greater, or NaN.
            if own[place] == own[place] and not own[i] <= own[place]:
              place = i
            to[place] += given[i]
        np.testing.assert_allclose(dx, want, atol=1e-12)
