# SPDX-License-Identifier: Apache-2.0
"""linear_recurrence: its definition."""

import itertools

from absl.testing import absltest
import draws
from hypothesis import strategies
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import linear_recurrence
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Bounded
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH
from jax_ffi_ops.kit.testing.exactness.rounding import gamma
from jax_ffi_ops.kit.testing.exactness.rounding import in_range
from jax_ffi_ops.ops.linear_recurrence import end_of_real

_DTYPES = (*kit.FLOATING, np.complex64, np.complex128)


def _sequential(a, b, h0, reverse):
  """Returns the recurrence along the last axis, and bounds of its error.

  A step of an accumulator's dtype adds two roundings to the error so far, which
  `a` multiplies. (A product of complex numbers has four.)
  """
  shape = np.broadcast_shapes(a.shape, b.shape, np.shape(h0) + (1,))
  a, b = np.broadcast_to(a, shape), np.broadcast_to(b, shape)
  wide = b.dtype
  h = np.zeros(b.shape[:-1], wide) if h0 is None else h0
  steps = range(b.shape[-1])
  values, sizes = np.empty_like(b), np.empty(b.shape, abs(b).dtype)
  size = 0
  for t in reversed(steps) if reverse else steps:
    with np.errstate(all="ignore"):
      product = a[..., t] * h
      h = product + b[..., t]
      # How large the error is, divided by that of four roundings.
      size = np.abs(a[..., t]) * size + np.abs(product) + np.abs(h)
    values[..., t], sizes[..., t] = h, size
  return values, sizes


def _definition(a, b, h0, *, reverse, shifted):
  is_plain = not isinstance(b, Bounded)
  factors, terms = (a, b) if is_plain else (a.value, b.value)
  if shifted:
    one = np.ones_like(factors[..., :1])
    pair = (factors[..., 1:], one) if reverse else (one, factors[..., :-1])
    factors = np.concatenate(pair, -1)[..., : factors.shape[-1]]
  start = h0 if is_plain or h0 is None else h0.value
  y, sizes = _sequential(factors, terms, start, reverse)
  if is_plain:
    return y
  tiny = jnp.finfo(b.dtype).smallest_normal
  error = sizes * gamma(4, b.dtype) + (sizes > 0) * tiny * y.shape[-1]
  return Bounded(in_range(y, b.dtype), b.dtype, error)


def _below_one(rng, shape):
  return rng.uniform(-1, 1, shape)


class LinearRecurrenceTest(testing.OpTest):
  case = Case(
      # The op itself, whose `a` has all loop dimensions or none.
      kit.ops_of(linear_recurrence)[0],
      [Operand((16,), values=_below_one), Operand((16,)), Operand()],
      attributes={"reverse": True, "shifted": False},
      definition=_definition,
      trailing=1,
  )


class RecurrenceTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))

  def _array(self, dtype, shape, seed):
    rng = np.random.default_rng([seed, *shape])
    x = rng.uniform(-1, 1, shape)
    if jnp.issubdtype(dtype, jnp.complexfloating):
      x = x + 1j * rng.uniform(-1, 1, shape)
    return x.astype(dtype)

  def _check(self, a, b, h0, axis, reverse):
    dtype = jnp.dtype(b.dtype)
    got = np.asarray(linear_recurrence(a, b, h0, axis=axis, reverse=reverse))
    self.assertEqual((got.dtype, got.shape), (dtype, b.shape))
    wide = np.longdouble if dtype.kind != "c" else np.clongdouble
    a = np.broadcast_to(a.astype(wide), b.shape)
    want, sizes = _sequential(
        np.moveaxis(a, axis, -1),
        np.moveaxis(b.astype(wide), axis, -1),
        None if h0 is None else h0.astype(wide),
        reverse,
    )
    want, sizes = np.moveaxis(want, -1, axis), np.moveaxis(sizes, -1, axis)
    inner = np.float32 if dtype.itemsize == 2 else jnp.finfo(dtype).dtype
    error = sizes * gamma(4, inner) + 1e-37
    if dtype.itemsize == 2:
      error = error + gamma(1, dtype) * (abs(want) + error)
    worst = np.max(abs(got.astype(wide) - want) - error, initial=-1)
    self.assertLess(worst, 0, f"{dtype}{b.shape}, {axis}, {reverse}")

  def test_definition(self):
    shapes = (
        ((19, 300), 1),
        ((2, 40, 1100), 1),
        ((1000,), 0),
        ((0,), 0),
        ((1,), 0),
        ((3, 37), 1),
        ((300, 19), 0),
        ((2, 3, 40, 5), 2),
        ((40, 0), 0),
    )
    for dtype in _DTYPES:
      every = THOROUGH or dtype == np.float32
      for shape, axis in shapes if every else shapes[:2]:
        for reverse in (False, True) if every else (True,):
          a, b = self._array(dtype, shape, 1), self._array(dtype, shape, 2)
          rest = shape[:axis] + shape[axis + 1 :]
          h0 = (
              self._array(dtype, rest, 3) if reverse or len(shape) > 1 else None
          )
          self._check(a, b, h0, axis, reverse)

  def test_many_steps(self):
    """Few rows or columns: the blocks of a GPU share their steps."""
    for dtype in (np.float32, jnp.bfloat16, np.complex64):
      for shape, axis in (((33000,), 0), ((1, 1100, 3), 1)):
        a, b = self._array(dtype, shape, 1), self._array(dtype, shape, 2)
        h0 = self._array(dtype, shape[:axis] + shape[axis + 1 :], 3)
        for reverse in (False, True):
          self._check(a, b, h0, axis, reverse)

  @draws.many(strategies.data(), draws.axes())
  def test_draws(self, data, call):
    """Also of factors above 1, and of zeros, which end what came before."""
    shape, axis, reverse = call
    axis %= len(shape)
    dtype = data.draw(strategies.sampled_from(_DTYPES))
    a, b = self._array(dtype, shape, 4), self._array(dtype, shape, 5)
    if jnp.dtype(dtype).itemsize > 2:  # Others would leave the range.
      a *= data.draw(strategies.sampled_from([1, 2]))
    for x in (a, b):
      x.flat[data.draw(draws.zeros(x.size))] = 0
    h0 = self._array(dtype, shape[:axis] + shape[axis + 1 :], 6)
    h0 = h0 if data.draw(strategies.booleans()) else None
    self._check(a, b, h0, axis, reverse)

  def test_factors_without_some_axes(self):
    shape = (2, 3, 40, 5, 4)
    b = self._array(np.float32, shape, 1)
    h0 = self._array(np.float32, (2, 3, 5, 4), 2)
    for own in (
        (),
        (4,),
        (40, 1, 1),
        (40, 5, 1),
        (40, 1, 4),
        (1, 5, 4),
        (3, 1, 5, 4),
        (2, 1, 40, 5, 4),
        (2, 1, 40, 1, 1),
        (1, 3, 40, 1, 4),
        (1, 1, 1, 1, 1),
    ):
      a = self._array(np.float32, own, 3)
      self._check(a, b, h0, 2, reverse=True)

  def test_gradients_of_factors_without_some_axes(self):
    shape = (2, 3, 4)
    b, h0 = self._array(np.float64, shape, 1), self._array(
        np.float64, (2, 4), 2
    )
    for own in ((4,), (3, 1), (2, 1, 1), ()) if THOROUGH else ((4,), (2, 1, 1)):
      a = self._array(np.float64, own, 3)
      jax.test_util.check_grads(
          jax.jit(lambda a, b: linear_recurrence(a, b, h0, axis=1)),
          (a, b),
          1,
          ["rev"],
      )

  def test_vmap_of_operands_of_which_some_have_no_loops(self):
    """The last axis stays the last one, and any other becomes the first."""
    op = kit.ops_of(linear_recurrence)[0]
    own = (6,), (2, 6, 3), (2, 3)  # of one example
    for axes in itertools.product((0, -1, None), repeat=3):
      if axes == (None,) * 3:
        continue
      a, b, h0 = (
          self._array(
              np.float32,
              own[i] if axis is None else np.insert(own[i], axis % (len(own[i]) + 1), 4),
              i,
          )
          for i, axis in enumerate(axes)
      )  # fmt: skip
      call = lambda a, b, h0: op(a, b, h0, axis=1, reverse=True, shifted=False)
      h = jax.vmap(call, axes)(a, b, h0)
      for i in range(4):
        each = [
            x if axis is None else np.take(x, i, axis)
            for x, axis in zip((a, b, h0), axes)
        ]
        np.testing.assert_allclose(h[i], call(*each), rtol=1e-5, atol=1e-6)

  def test_gradients_of_operands_without_loops(self):
    """They are sums over all rows and columns."""
    op = kit.ops_of(linear_recurrence)[0]
    a, b, h0, weights = (
        self._array(np.float64, shape, i)
        for i, shape in enumerate(((6,), (2, 6, 3), (), (2, 6, 3)))
    )

    def loss(a, h0):
      h = op(a, b, h0, axis=1, reverse=False, shifted=False)
      return jnp.sum(weights * h)

    gradient = jax.jit(jax.grad(loss, (0, 1)))
    da, dh0 = gradient(a, h0)
    full = np.broadcast_to(a[:, None], b.shape), np.broadcast_to(h0, (2, 3))
    of_a, of_h0 = gradient(*full)
    np.testing.assert_allclose(da, np.sum(of_a, (0, 2)), rtol=1e-12)
    np.testing.assert_allclose(dh0, np.sum(of_h0), rtol=1e-12)

  def test_special_factors(self):
    """A factor of 0 ends what came before; NaN and inf go on as they do."""
    a = np.array([2.0, 0, 3, np.inf, 0, 0, 1, np.nan, 0, 1])
    b = np.array([1.0, 1, 0, 0, 1, 1, np.inf, 1, 1, 1])
    want = [1, 1, 3, np.inf, np.nan] + [np.nan] * 5
    for dtype in _DTYPES[:4] if THOROUGH else (np.float32, jnp.bfloat16):
      for shape in ((10,), (10, 1), (10, 33)):
        x, y = (np.broadcast_to(v.reshape(10, *(1,) * (len(shape) - 1)), shape)
                .astype(dtype) for v in (a, b))  # fmt: skip
        h = np.asarray(linear_recurrence(x, y)).astype(float)
        np.testing.assert_array_equal(h.reshape(10, -1)[:, 0], want)
        h = linear_recurrence(x.T.copy(), y.T.copy(), axis=-1)
        h = np.asarray(h).astype(float)
        np.testing.assert_array_equal(h.T.reshape(10, -1)[:, -1], want)

  def test_what_grows_and_ends(self):
    """Products of factors overflow where the recurrence does not."""
    for count in (50, 10000):
      a = np.tile(np.array([1e30, 1e30, 0, 1e-30], np.float32), count)
      b = np.tile(np.array([0, 0, 1, 0], np.float32), count)
      h = np.asarray(linear_recurrence(a, b))
      np.testing.assert_allclose(h[2::4], 1)
      np.testing.assert_allclose(h[3::4], 1e-30)
      np.testing.assert_allclose(h[4::4], 1)

  def test_what_leaves_the_range_stays_out(self):
    """Factors bring their product back, but not the recurrence."""
    for dtype, large in (
        (np.float32, 1e30), (np.float64, 1e200), (jnp.bfloat16, 1e30),
        (np.complex64, 1e30),
    ):  # fmt: skip
      for shape in ((33_000,), (1100, 3)):
        a, b = np.ones(shape, dtype), np.zeros(shape, dtype)
        b[0] = 1
        a[100:103], a[103:106] = large, 1 / large
        a[-7] = 0  # infinity times 0 is NaN
        wide = np.promote_types(dtype, np.float32)
        columns = a.T.astype(wide), b.T.astype(wide)
        want = _sequential(*columns, None, reverse=False)[0].T
        np.testing.assert_array_equal(np.isfinite(want).sum(0), 101)
        for reverse in (False, True):
          own, terms, wanted = (x[::-1] if reverse else x for x in (a, b, want))
          h = linear_recurrence(own, terms, reverse=reverse)
          h = np.asarray(h).astype(wide)
          if dtype == np.complex64:  # Which parts are NaN is left to compilers.
            h, wanted = np.isfinite(h), np.isfinite(wanted)
          np.testing.assert_array_equal(h, wanted)

  def test_what_is_infinite_in_16_bits(self):
    """The state, of float32, may be finite, or have been infinite."""
    for shape, power in itertools.product(((33_000,), (1100, 3)), (0, 14)):
      a, b = np.ones(shape, np.float16), np.zeros(shape, np.float16)
      b[0], a[1], a[2], a[-100] = 1, 2**14, 2**3, 2.0**-10
      a[100:110], a[110:120] = 2.0**power, 2.0**-power
      want = np.full(shape, np.inf)
      want[:2] = np.reshape([1, 2**14], (2, *[1] * (len(shape) - 1)))
      if power == 0:
        want[-100:] = 2**7
      for reverse in (False, True):
        own, terms, wanted = (x[::-1] if reverse else x for x in (a, b, want))
        h = linear_recurrence(own, terms, reverse=reverse)
        np.testing.assert_array_equal(h, wanted)

  def test_on_the_unit_circle(self):
    n = 1 << 16
    a = np.exp(1j * np.linspace(0.1, 3, 3))
    h = linear_recurrence(
        np.tile(a[:, None], n), np.zeros((3, n), complex), np.ones(3) + 0j,
        axis=1,
    )  # fmt: skip
    np.testing.assert_allclose(np.abs(h[:, -1]), 1, n * 1e-15)
    np.testing.assert_allclose(h[:, -1], a**n, n * 1e-15)

  def test_one_row_as_many(self):
    """A row alone has the results of one among many rows, or columns."""
    for dtype in (np.float32, np.float16, jnp.bfloat16, np.complex64):
      a = self._array(dtype, (5000,), 1)
      b = self._array(dtype, (5000,), 2)
      one = np.asarray(linear_recurrence(a, b)).tobytes()
      # Compilers multiply complex numbers in more than one way.
      columns = () if dtype == np.complex64 else ((0, 37), (0, 100))
      for axis, count in ((1, 37), *columns):
        many = linear_recurrence(
            *(np.stack([x] * count, 1 - axis) for x in (a, b)), axis=axis
        )
        for row in np.moveaxis(np.asarray(many), axis, 1):
          self.assertEqual(row.tobytes(), one)

  def test_gradients_of_complex_numbers(self):
    a, b = (self._array(np.complex128, (3, 7), seed) for seed in (1, 2))
    h0 = self._array(np.complex128, (3,), 3)
    function = jax.jit(lambda a, b, h0: linear_recurrence(a, b, h0, axis=1))
    jax.test_util.check_grads(function, (a, b, h0), 2, ["rev"])

  def test_steps_that_are_split_over_devices(self):
    """More of it: kit_split_recurrence_test."""
    a, b, dh = (self._array(np.float32, (3, 64), seed) for seed in (1, 2, 3))
    h0 = self._array(np.float32, (3,), 4)

    def run(a, b, h0, dh):
      scan = lambda *x: linear_recurrence(*x, axis=1, reverse=True)
      h, pull_back = jax.vjp(scan, a, b, h0)
      return h, *pull_back(dh)

    axes = jax.sharding.AxisType.Explicit
    mesh = jax.make_mesh((2,), ("steps",), axis_types=(axes,))
    spec = jax.sharding.PartitionSpec
    placed = [
        jax.device_put(x, jax.sharding.NamedSharding(mesh, own))
        for own, x in zip(
            (spec(None, "steps"),) * 2 + (spec(), spec(None, "steps")),
            (a, b, h0, dh),
        )
    ]
    program = jax.jit(run).lower(*placed).compile()
    self.assertNotIn("[3,64]", program.as_text())
    for got, want in zip(program(*placed), run(a, b, h0, dh), strict=True):
      # Sums of as many terms, whose factors are below 1.
      allowed = 64 * np.finfo(np.float32).eps * np.max(np.abs(want))
      np.testing.assert_allclose(got, want, rtol=0, atol=allowed)

  def test_ends_of_pieces(self):
    """What devices exchange: h behind a piece is m 2^e h0 + term.

    If it is shifted, a[t] (h + b[t]) takes the place of a[t] h + b[t].
    """
    shapes = ((1003,), 0), ((19, 40), 1), ((40, 5), 0), ((2, 30, 1100), 1)
    flags = False, True
    for (shape, axis), reverse, shifted in itertools.product(
        shapes, flags, flags
    ):
      for dtype in kit.FLOATING:
        wide = np.promote_types(dtype, np.float32)
        a, b = (self._array(dtype, shape, seed) for seed in (1, 2))
        m, e, term = map(
            np.asarray,
            end_of_real(a, b, axis=axis, reverse=reverse, shifted=shifted),
        )
        a, b = (np.moveaxis(x.astype(np.longdouble), axis, -1) for x in (a, b))
        want, sizes = _sequential(a, a * b if shifted else b, None, reverse)
        last = 0 if reverse else -1
        allowed = sizes[..., last] * gamma(4, wide) + 1e-37
        self.assertLess(np.max(abs(term - want[..., last]) - allowed), 0)
        product = np.prod(a, -1)
        got = np.ldexp(m.astype(np.longdouble), e.astype(int))
        # A rounding of a factor, and of a part.
        allowed = gamma(2 * a.shape[-1], np.float64) * abs(product)
        self.assertLessEqual(np.max(abs(got - product) - allowed), 0)

  def test_ends_of_factors_of_any_size(self):
    """Their products leave the range of doubles, and come back."""
    rng = np.random.default_rng(0)
    for dtype, most in (
        (np.float16, 14), (jnp.bfloat16, 125), (np.float32, 125),
        (np.float64, 1021),
    ):  # fmt: skip
      powers = rng.uniform(-most, most, (9, 83))
      powers[1], powers[2], powers[3] = (
          most,
          -most,
          most * (-1) ** np.arange(83),
      )
      a = (rng.choice([-1, 1], powers.shape) * 2.0**powers).astype(dtype)
      a[4, 5] = 0
      wide = a.astype(np.longdouble)
      flags = False, True
      for axis, reverse, shifted in itertools.product((0, 1), flags, flags):
        own = np.moveaxis(a, 1, axis)
        m, e, term = end_of_real(
            own, np.zeros_like(own), axis=axis, reverse=reverse, shifted=shifted
        )
        np.testing.assert_array_equal(term, 0)
        m, power = np.frexp(np.asarray(m, np.longdouble))
        product = np.ones(9, np.longdouble)
        for column in wide.T:
          product, own = np.frexp(product * column)
          power -= own
        got = np.ldexp(m, power + np.asarray(e, int))
        allowed = gamma(2 * a.shape[1], np.float64)
        np.testing.assert_allclose(got, product, rtol=allowed, atol=0)

  def test_ends_of_factors_that_nearly_leave_the_range(self):
    """Where a group of steps begins with a large product, or a small one."""
    for dtype, first, most in (
        (np.float16, 99, 14), (jnp.bfloat16, 99, 126), (np.float32, 99, 126),
        (np.float64, 99, 1022),
    ):  # fmt: skip
      # Factors whose product is the first one, 8 large ones, and the inverses.
      powers = [most] * (first // most) + [first % most] + [most] * 8
      powers += [-x for x in reversed(powers)]
      powers = np.stack(
          [np.pad(powers, (before, 8 - before)) for before in range(9)]
      )
      a = np.exp2([*powers, *-powers]).astype(dtype)
      for axis, reverse in itertools.product((0, 1), (False, True)):
        own = np.moveaxis(a, 1, axis)
        m, e, _ = end_of_real(
            own, own, axis=axis, reverse=reverse, shifted=False
        )
        np.testing.assert_array_equal(np.ldexp(m, np.asarray(e, int)), 1)

  def test_ends_of_terms_that_factors_make_much_larger(self):
    """And smaller: by 2^1500, in rows that are computed in parts."""
    for sign, reverse in itertools.product((-1, 1), (False, True)):
      a, b = np.ones(800), np.zeros(800)
      b[0], a[300:400] = 2.0 ** (-1000 * sign), 2.0 ** (15 * sign)
      if reverse:
        a, b = a[::-1], b[::-1]
      *_, term = end_of_real(a, b, axis=0, reverse=reverse, shifted=False)
      self.assertEqual(term, 2.0 ** (500 * sign))

  def test_handler_refuses_other_states_of_pieces(self):
    target = kit.ops_of(linear_recurrence)[1].declaration.forward_target

    def run(h0, dtype=jnp.bfloat16):
      x = np.ones((3, 4), dtype)
      return jax.ffi.ffi_call(target, jax.ShapeDtypeStruct(x.shape, x.dtype))(
          x, x, h0, reverse=np.bool_(False), shifted=np.bool_(False),
          present=np.int64(7), trailing_rank=np.int64(0),
      )  # fmt: skip

    start = np.array([0, 1, 2], np.float32)
    h = np.asarray(run(start)).astype(np.float32)
    np.testing.assert_array_equal(h, start[:, None] + [1, 2, 3, 4])
    ones = np.ones
    for h0 in (
        ones(4, np.float32), ones((3, 4), np.float32), ones((3, 1), np.float32),
        ones(3, jnp.bfloat16), ones(3, np.float64), ones(3, np.int32),
    ):  # fmt: skip
      with self.assertRaisesRegex(
          jax.errors.JaxRuntimeError, "INVALID_ARGUMENT: .*h0 must"
      ):
        run(h0)
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "INVALID_ARGUMENT: .*a must"
    ):
      run(start, np.float32)

  def test_refuses_other_shapes(self):
    ones = jnp.ones
    for a, b, h0, axis in (
        (ones((2, 4)), ones((3, 4)), None, 1),
        (ones((3, 5)), ones((3, 4)), None, 1),
        (ones((3, 4)), ones((1, 4)), None, 1),
        (ones((2, 3, 4)), ones((3, 4)), None, 1),
        (ones((3, 4)), ones((3, 4)), ones(4), 1),
        (ones(4), ones(4), None, 1),
        (ones(4), ones(4), ones(2), 0),
        (ones(5000), ones(5000), ones((2, 3)), 0),
        (1.0, ones(()), None, 0),
    ):
      with self.assertRaisesRegex(ValueError, "linear_recurrence"):
        linear_recurrence(a, b, h0, axis=axis)
    with self.assertRaisesRegex(TypeError, "linear_recurrence"):
      linear_recurrence(ones(4, jnp.bfloat16), ones(4))
    for axis in (None, "0", 1.0, [0], True):
      with self.assertRaisesRegex(TypeError, "axis must be an integer"):
        linear_recurrence(0.5, ones((3, 4)), axis=axis)
    linear_recurrence(0.5, ones((3, 4)), axis=np.int64(1))


if __name__ == "__main__":
  absltest.main()
