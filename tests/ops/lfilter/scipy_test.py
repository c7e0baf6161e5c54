# SPDX-License-Identifier: Apache-2.0
"""lfilter and sosfilt against SciPy's, and what SciPy's own tests ask of them.

These cases of scipy/signal/tests/test_signaltools.py are here in other words.
Of the tests of lfilter: test_rank_1_IIR, test_rank_1_FIR,
test_rank_1_IIR_init_cond, test_rank_1_FIR_init_cond, test_rank_2_IIR_axis_0,
test_rank_2_IIR_axis_1, test_rank_2_IIR_axis_0_init_cond,
test_rank_2_IIR_axis_1_init_cond, test_rank_3_IIR, test_rank_3_IIR_init_cond,
test_rank_3_FIR, test_rank_3_FIR_init_cond, test_zi_pseudobroadcast,
test_scalar_a, test_scalar_input, test_zi_some_singleton_dims,
test_bad_size_zi, test_empty_zi, test_short_x_FIR, test_short_x_IIR,
test_lfilter_bad_object; of lfilter_zi and sosfilt_zi: test_basic; of sosfilt:
test_rank1, test_rank2, test_rank3, test_initial_conditions,
test_initial_conditions_2, test_initial_conditions_3d_axis1, test_bad_zi_shape.
"""

import itertools

from absl.testing import absltest
import hypothesis
from hypothesis import strategies
import jax
import jax.numpy as jnp
import jax.test_util
import numpy as np
from scipy import signal

from jax_ffi_ops import kit
from jax_ffi_ops import lfilter
from jax_ffi_ops import sosfilt
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH
from jax_ffi_ops.kit.testing.exactness.rounding import gamma

# A program is sooner compiled than its parts.
_jitted = jax.jit(lfilter, static_argnums=3)
_DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def _draw(rng, dtype, *shape):
  x = rng.uniform(-1, 1, shape)
  if np.issubdtype(dtype, np.complexfloating):
    x = x + 1j * rng.uniform(-1, 1, shape)
  return x.astype(dtype)


def _absolute(b, a, x, axis, zi):
  """A bound of what the terms of each step add up to."""
  a = np.abs(a) / np.abs(a[0])
  a[1:] *= -1
  b, zi = np.abs(b), None if zi is None else np.abs(zi)
  x = np.abs(x)
  if zi is None:
    zi = np.zeros(
        [
            max(len(a), len(b)) - 1 if i == axis % x.ndim else n
            for i, n in enumerate(x.shape)
        ]
    )
  return signal.lfilter(b / np.abs(a[0]), a, x, axis, zi)


class ScipyTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))
    self._rng = np.random.default_rng(0)

  def _close(self, found, want, sizes, roundings):
    self.assertEqual((found.dtype, found.shape), (want.dtype, want.shape))
    error = roundings * np.finfo(want.dtype).eps * sizes + 1e-30
    worst = np.max(np.abs(np.asarray(found) - want) - error, initial=-1)
    self.assertLessEqual(worst, 0)

  def _check(self, b, a, x, axis=-1, zi=None):
    """Each step rounds a few times, and its errors go on as its terms do."""
    wide = [np.asarray(v, np.result_type(v, float)) for v in (b, a, x)]
    roundings = 8 * (len(b) + len(a)) * max(1, x.shape[axis])
    if zi is None:
      want = signal.lfilter(b, a, x, axis)
      y = _absolute(*wide, axis, None)[0]
      self._close(_jitted(b, a, x, axis), want, np.max(y, initial=0), roundings)
      return
    found = _jitted(b, a, x, axis, zi)
    want = signal.lfilter(b, a, x, axis, zi)
    sizes = _absolute(*wide, axis, np.broadcast_to(zi, want[1].shape))
    size = max(np.max(v, initial=0) for v in sizes)
    for pair in zip(found, want, strict=True):
      self._close(*pair, size, roundings)

  def _check_shape(self, b, a, shape, axis):
    """Without a state, with one, and with one that all signals share."""
    x = _draw(self._rng, b.dtype, *shape)
    order = max(len(b), len(a)) - 1
    self._check(b, a, x, axis)
    own = [order if i == axis % len(shape) else n for i, n in enumerate(shape)]
    self._check(b, a, x, axis, _draw(self._rng, b.dtype, *own))
    if len(shape) > 1:
      own = [n if i == axis % len(shape) else 1 for i, n in enumerate(own)]
      self._check(b, a, x, axis, _draw(self._rng, b.dtype, *own))

  def test_ranks_and_axes(self):
    filters = (
        ([1, -1], [0.5, -0.5]),
        ([0.5, 2, 1], [2, 0.5]),
        ([1, 0.5, 1, 0.25], [2, 0.5, -0.5, 0.25, 0.125]),
        ([1, 1], [1]),
    )
    shapes = (
        ((20, 130), 1), ((130, 17), 0), ((4, 3, 2), 1), ((6,), 0), ((1, 9), 0),
        ((4, 3, 2), -1),
    )  # fmt: skip
    for dtype in _DTYPES:
      for b, a in filters[:3]:
        b, a = np.array(b, dtype), np.array(a, dtype)
        for shape, axis in shapes[:2]:
          self._check_shape(b, a, shape, axis)
    for b, a in filters:
      for shape, axis in shapes[2:]:
        self._check_shape(np.array(b, float), np.array(a, float), shape, axis)

  def test_dtypes_promote_as_those_of_scipy(self):
    for b in (np.ones(2), np.ones(2, np.float32), np.array([1, 2])):
      for dtype in (*_DTYPES, int):
        a = np.array([2, 1], dtype)
        x = np.arange(5, dtype=np.float32 if dtype is int else dtype)
        found, want = lfilter(b, a, x), signal.lfilter(b, a, x)
        self.assertEqual(found.dtype, want.dtype)
        np.testing.assert_allclose(found, want, 1e-6)

  def test_16_bits(self):
    """The state is kept in float32, as b / a[0] is, and y is rounded once."""
    for dtype, b, a in itertools.product(
        (jnp.bfloat16, np.float16), [[1 / 32]], ([1, -31 / 32], [3, -95 / 32])
    ):
      x, b, a = np.ones(300, dtype), np.array(b, dtype), np.array(a, dtype)
      y = lfilter(b, a, x)
      self.assertEqual(y.dtype, jnp.dtype(dtype))
      want = signal.lfilter(*(np.float64(v) for v in (b, a, x)))
      eps = float(jnp.finfo(dtype).eps)
      np.testing.assert_allclose(np.float64(y), want, eps)

  def test_complex_signals_have_the_same_filter(self):
    b, a = np.array([1.0, 0.3], np.float32), np.array([3, -2.9], np.float32)
    x = self._rng.normal(size=300).astype(np.float32)
    y = lfilter(b, a, x + 0j * x)
    self.assertEqual(y.dtype, np.complex64)
    np.testing.assert_array_equal(y.real, lfilter(b, a, x))

  def test_no_recursion(self):
    self._check(np.array([0.5, 1, 2]), np.array([2.0]), np.arange(6.0))
    np.testing.assert_allclose(lfilter(3.0, 2.0, np.arange(4.0)),
                               1.5 * np.arange(4))  # fmt: skip

  def test_steady_state(self):
    """From the state of a step's response, ones are filtered to ones."""
    b, a = signal.butter(4, 0.2)
    zi = signal.lfilter_zi(b, a)
    y, zf = lfilter(b, a, np.ones(50), zi=zi)
    np.testing.assert_allclose(y, np.ones(50), rtol=1e-9)
    np.testing.assert_allclose(zf, zi, rtol=1e-9)

  def test_pieces(self):
    """What a state goes on with is what a longer signal goes on with."""
    b, a = signal.butter(3, 0.3)
    x = self._rng.normal(size=(3, 700))
    whole = np.asarray(lfilter(b, a, x))
    zi, pieces = np.zeros((3, 3)), []
    for begin, end in ((0, 1), (1, 130), (130, 513), (513, 700)):
      y, zi = lfilter(b, a, x[:, begin:end], zi=zi)
      pieces.append(y)
    np.testing.assert_array_equal(np.concatenate(pieces, 1), whole)

  def test_one_signal_as_many(self):
    """The bits do not depend on how many are filtered side by side."""
    orders = (1, 2, 3)
    each = zip(_DTYPES, itertools.cycle(orders))
    for dtype, order in (
        itertools.product(_DTYPES, orders) if THOROUGH else each
    ):
      b, a = (c.astype(dtype) for c in signal.butter(order, 0.2))
      x = _draw(self._rng, dtype, 2100)  # More than a piece, alone or not.
      one = np.asarray(lfilter(b, a, x)).tobytes()
      for count in (2, 37):
        for row in np.asarray(lfilter(b, a, np.stack([x] * count))):
          self.assertEqual(row.tobytes(), one)
        for row in np.asarray(lfilter(b, a, np.stack([x] * count, 1), 0)).T:
          self.assertEqual(row.tobytes(), one)

  def test_long_signals(self):
    """2^22 steps of one signal: errors of steps long ago have faded.

    The computed y of a section is the exact response to x and to an error of
    each step. That is at most six roundings of the terms which the step adds.
    So the error of y is at most the largest one, times the sum of the absolute
    response of 1 / A to an impulse; and errors of x pass through the section.
    """
    x = self._rng.uniform(-1, 1, 1 << 22).astype(np.float32)
    impulse = signal.unit_impulse(1 << 12)
    sos = signal.butter(4, 0.1, output="sos").astype(np.float32)
    first = np.float32([[0.25, 0.5, 0, 1, -0.96875, 0]])
    for sections in first, sos[:1], sos:
      want, allowed = x.astype(float), 0
      for section in sections.astype(float):
        b, a = section[:3], section[3:]
        y = signal.lfilter(b, a, want)
        terms = signal.lfilter(abs(b), 1, abs(want))
        terms += signal.lfilter(np.append(0, abs(a[1:])), 1, abs(y))
        own = np.sum(abs(signal.lfilter([1.0], a, impulse)))
        passed = np.sum(abs(signal.lfilter(b, a, impulse)))
        # The terms of what is computed differ by less than a hundredth.
        step = 1.01 * gamma(6, np.float32) * np.max(terms)
        want, allowed = y, passed * allowed + own * step
      found = [sosfilt(sections, x)]
      if len(sections) == 1:
        found.append(lfilter(sections[0, :3], sections[0, 3:], x))
      if not sections[0, 5]:
        found.append(lfilter(sections[0, :2], sections[0, 3:5], x))
      for y in found:
        self.assertEqual(y.shape, x.shape)
        self.assertLessEqual(np.max(abs(np.asarray(y, float) - want)), allowed)

  def test_empty(self):
    for shape, axis in (((0,), 0), ((3, 0), 1), ((0, 5), 1), ((0, 5), 0)):
      x = np.ones(shape)
      self.assertEqual(lfilter([1.0, 2], [1.0, 0.5], x, axis).shape, shape)
      state = np.ones([1 if i == axis else n for i, n in enumerate(shape)])
      y, zf = lfilter([1.0, 2], [1.0, 0.5], x, axis, state)
      self.assertEqual(y.shape, shape)
      if not shape[axis]:
        np.testing.assert_array_equal(zf, state)

  def test_sections(self):
    for dtype in _DTYPES:
      sos = signal.butter(6, 0.3, output="sos").astype(dtype)
      for shape, axis in (((20,), 0), ((4, 300), -1), ((130, 17), 0)):
        if axis and dtype != np.float32:
          continue
        x = _draw(self._rng, dtype, *shape)
        want = signal.sosfilt(sos, x, axis)
        # The gain of the filter is 1; the sections' errors are damped.
        roundings = 64 * len(sos)
        self._close(sosfilt(sos, x, axis), want, 8, roundings)
        state = list(shape)
        state[axis] = 2
        zi = _draw(self._rng, dtype, len(sos), *state)
        for pair in zip(
            sosfilt(sos, x, axis, zi), signal.sosfilt(sos, x, axis, zi)
        ):
          self._close(*pair, 32, roundings)

  def test_sections_of_a_steady_state(self):
    sos = signal.butter(5, 0.2, output="sos")
    zi = signal.sosfilt_zi(sos)
    y, zf = sosfilt(sos, np.ones(40), zi=zi)
    np.testing.assert_allclose(y, np.ones(40), rtol=1e-9)
    np.testing.assert_allclose(zf, zi, rtol=1e-9)

  def test_a_high_order_is_finite(self):
    sos = signal.butter(8, 0.05, output="sos")
    x = self._rng.normal(size=100_000)
    y = np.asarray(sosfilt(sos, x))
    np.testing.assert_allclose(y, signal.sosfilt(sos, x), atol=1e-10)

  @hypothesis.settings(
      deadline=None, max_examples=15, derandomize=True, database=None
  )
  @hypothesis.given(strategies.data())
  def test_draws(self, data):
    number = strategies.integers(-8, 8)
    several = lambda least, most: strategies.lists(
        number, min_size=least, max_size=most
    )
    b = np.array(data.draw(several(1, 6))) / 8
    a = np.array([data.draw(strategies.sampled_from([1, -2, 0.5]))]
                 + [c / 32 for c in data.draw(several(0, 4))])  # fmt: skip
    shape = data.draw(
        strategies.sampled_from([(1,), (7,), (3, 40), (2, 1), (5, 8, 3), (33,)])
    )
    axis = data.draw(strategies.integers(-len(shape), len(shape) - 1))
    dtype = data.draw(strategies.sampled_from(_DTYPES))
    b, a = b.astype(dtype), a.astype(dtype)
    self._check(b, a, _draw(self._rng, dtype, *shape), axis)

  def test_gradients(self):
    b, a = self._rng.normal(size=4), np.array([1.5, 0.3, -0.2])
    for shape, axis in (((3, 7), -1), ((7, 3), 0), ((2, 1), -1)):
      x = self._rng.normal(size=shape)
      rest = list(shape)
      rest[axis] = 3
      zi = self._rng.normal(size=rest)
      jax.test_util.check_grads(
          lambda *v, axis=axis: lfilter(*v[:3], axis, v[3]), (b, a, x, zi), 2
      )
    for dtype in (np.float64, np.complex128):
      operands = [_draw(self._rng, dtype, n) for n in (2, 3, 5)]
      operands[1][0] = 2
      jax.test_util.check_grads(lfilter, operands, 1, ["rev"])

  def test_gradients_of_sections(self):
    sos = jnp.asarray(signal.butter(3, 0.3, output="sos"))
    x, zi = self._rng.normal(size=(2, 6)), self._rng.normal(size=(2, 2, 2))
    function = lambda sos, x, zi: sosfilt(
        jnp.asarray(sos).at[:, 3].set(1), x, zi=zi
    )
    jax.test_util.check_grads(function, (sos, x, zi), 2, ["rev"])

  def test_gradients_of_many_coefficients(self):
    b, x = self._rng.normal(size=12), self._rng.normal(size=30)
    function = lambda b, x: lfilter(b, np.array([1, 0.5]), x)
    jax.test_util.check_grads(function, (b, x), 1, ["rev"])

  def test_vmap_over_filters(self):
    b, x = self._rng.normal(size=(5, 3)), self._rng.normal(size=(4, 50))
    a = np.concatenate([np.ones((5, 1)), np.full((5, 2), 0.25)], 1)
    found = jax.vmap(lambda b, a: lfilter(b, a, x))(b, a)
    for i in range(5):
      want = signal.lfilter(b[i], a[i], x)
      np.testing.assert_allclose(found[i], want, atol=1e-12)

  def test_refusals(self):
    x, one = np.ones((3, 4)), np.ones(2)
    for call in (
        lambda: lfilter(one, one, x, 2),
        lambda: lfilter(one, one, np.float64(1)),
        lambda: lfilter(one, np.zeros(2), x),
        lambda: jax.jit(lambda x: lfilter(one, np.zeros(2), x))(x),
        lambda: lfilter(one, np.ones(0), x),
        lambda: lfilter(np.ones(0), one, x),
        lambda: lfilter(np.ones((2, 2)), one, x),
        lambda: lfilter(one, np.ones((2, 2)), x),
        lambda: lfilter(one, one, x, zi=np.ones(1)),
        lambda: lfilter(one, one, x, zi=np.ones((3, 2))),
        lambda: lfilter(one, one, x, zi=np.ones((2, 1))),
        lambda: lfilter(one, one, x, zi=np.ones((3, 1, 1))),
        lambda: sosfilt(np.ones(6), x),
        lambda: sosfilt(np.ones((2, 5)), x),
        lambda: sosfilt(np.ones((0, 6)), x),
        lambda: sosfilt(2 * np.ones((1, 6)), x),
        lambda: jax.jit(lambda x: sosfilt(2 * np.ones((1, 6)), x))(x),
        lambda: sosfilt(np.ones((1, 6)), x, 2),
        lambda: sosfilt(np.ones((1, 6)), x, zi=np.ones((3, 2))),
        lambda: sosfilt(np.ones((1, 6)), x, zi=np.ones((1, 1, 2))),
    ):
      with self.assertRaisesRegex(ValueError, "filt"):
        call()
    for call in (
        lambda: lfilter(one, one, np.ones(3, bool)),
        lambda: lfilter(one, one, "abc"),
        lambda: sosfilt(np.ones((1, 6), bool), x),
        lambda: lfilter(one, None, x),
        lambda: lfilter(one, one, x, "0"),
        lambda: sosfilt(np.ones((1, 6)), x, None),
    ):
      with self.assertRaises(TypeError):
        call()


if __name__ == "__main__":
  absltest.main()
