# SPDX-License-Identifier: Apache-2.0
"""What is made of linear_recurrence against loops in NumPy."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import discounted_returns
from jax_ffi_ops import ema
from jax_ffi_ops import gae
from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.cases import programs
from jax_ffi_ops.kit.testing.exactness.rounding import gamma


def _ema(x, alpha, initial):
  """Along the first axis."""
  alpha = np.broadcast_to(alpha, x.shape)
  y = np.empty_like(x)
  last = x[0] if initial is None else initial
  for t in range(len(x)):
    y[t] = last = (1 - alpha[t]) * last + alpha[t] * x[t]
  return y


def _advantages(rewards, discounts, values, lambda_):
  discounts = np.broadcast_to(discounts, rewards.shape)
  result, last = np.empty_like(rewards), 0
  for t in reversed(range(len(rewards))):
    delta = rewards[t] + discounts[t] * values[t + 1] - values[t]
    result[t] = last = delta + discounts[t] * lambda_ * last
  return result


class RecurrencesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))
    self._rng = np.random.default_rng(0)

  def _uniform(self, *shape):
    """Numbers that all dtypes hold, so that only results are rounded."""
    return self._rng.integers(1, 16, shape) / 16

  def _close(self, got, want, dtype, roundings):
    """Compares averages of numbers up to 1, or sums of few of them."""
    self.assertEqual(got.dtype, dtype)
    wide = kit.accumulator(dtype)
    error = gamma(roundings, wide) + (gamma(1, dtype) if dtype != wide else 0)
    size = np.max(np.abs(want), initial=1)
    distance = np.abs(np.asarray(got).astype(np.float64) - want)
    self.assertLessEqual(np.max(distance, initial=0), float(error * size))

  @parameterized.parameters(2, 20)
  def test_ema(self, columns):
    """Small arrays run another formulation, if alpha is a number."""
    x = self._uniform(50, 3, columns)
    alphas = 0.25, self._uniform(columns), self._uniform(3, 1)
    pairs = [
        (alpha, initial)
        for alpha in alphas
        for initial in (None, self._uniform(3, columns))
    ]
    numbers = [pair for pair in pairs if np.ndim(pair[0]) == 0]

    @programs.jit
    def averages(x):
      last = jnp.moveaxis(x, 0, -1)[..., ::-1]
      return [ema(x, *pair, axis=0) for pair in pairs], [
          ema(last, *pair, reverse=True) for pair in numbers
      ]

    for dtype in kit.FLOATING:
      forward, backward = averages(x.astype(dtype))
      for (alpha, initial), got in zip(pairs, forward, strict=True):
        want = _ema(x, alpha, initial)
        # An average has the weight alpha of each step's 4 roundings.
        self._close(got, want, dtype, 4 / np.min(alpha) + 1)
      for (alpha, initial), got in zip(numbers, backward, strict=True):
        want = np.moveaxis(_ema(x, alpha, initial), 0, -1)[..., ::-1]
        self._close(got, want, dtype, 4 / alpha + 1)

  def test_ema_with_a_small_weight(self):
    """In bfloat16, 1 - alpha would be 1."""
    x = np.ones(2000, jnp.bfloat16)
    y = ema(x, 1e-3, np.zeros(()))
    self._close(y, 1 - 0.999 ** np.arange(1.0, 2001), y.dtype, 4 / 1e-3)

  def test_ema_of_nothing(self):
    self.assertEqual(ema(np.ones((3, 0), np.float32), 0.5).shape, (3, 0))

  def test_discounted_returns(self):
    rewards, discounts = self._uniform(40, 3), self._uniform(40, 3)
    discounts[10] = 0  # An episode ends.
    bootstrap = self._uniform(3)
    want, last = np.empty_like(rewards), bootstrap
    for t in reversed(range(40)):
      want[t] = last = rewards[t] + discounts[t] * last
    for dtype in kit.FLOATING:
      arrays = (x.astype(dtype) for x in (rewards, discounts, bootstrap))
      got = discounted_returns(*arrays)
      self._close(got, want, jnp.dtype(dtype), 2 * 16)
    got = discounted_returns(rewards.T, 0.5, axis=1)
    want = _advantages(rewards, 0.5, np.zeros((41, 3)), 1)
    self._close(got, want.T, np.dtype(float), 2 * 16)

  def test_discounts_of_other_dtypes(self):
    """Bools that end episodes, and floats that rewards of 16 bits do not hold."""
    rewards, goes_on = self._uniform(40, 3), self._rng.uniform(size=40) < 0.8
    for discounts in (goes_on[:, None], 0.99, np.float64(0.99), np.array(1)):
      want = _advantages(rewards, discounts, np.zeros((41, 3)), 1)
      for dtype in kit.FLOATING:
        got = discounted_returns(rewards.astype(dtype), discounts)
        self._close(got, want, jnp.dtype(dtype), 4 * 40)
        with_zeros = np.zeros(3, np.int32)
        again = discounted_returns(rewards.astype(dtype), discounts, with_zeros)
        np.testing.assert_array_equal(again, got)

  def test_gae(self):
    rewards, values = self._uniform(40, 3), self._uniform(41, 3)
    for discounts in (0.5, self._uniform(40, 3), self._uniform(3)):
      want = _advantages(rewards, discounts, values, 0.75)
      for dtype in kit.FLOATING:
        r, v = rewards.astype(dtype), values.astype(dtype)
        got = gae(r, discounts, v, 0.75)
        self._close(got, want, jnp.dtype(dtype), 6 * 16)
        got = gae(r[None], discounts, v[None], 0.75, axis=1)
        self._close(got[0], want, jnp.dtype(dtype), 6 * 16)

  @parameterized.parameters("steps", "columns")
  def test_explicit_axes(self, name):
    """Where steps are split, JAX refuses x[0]."""
    x, values = self._uniform(16, 8), self._uniform(17, 8)
    mesh = devices.mesh(jax.sharding.AxisType.Explicit, **{name: 4})
    split = jax.NamedSharding(mesh, jax.P(*(
        axis if axis == name else None for axis in ("steps", "columns")
    )))  # fmt: skip
    functions = (
        lambda x: ema(x, 0.25, axis=0),
        lambda x: ema(x, x, axis=0, reverse=True),
        lambda x: discounted_returns(x, 0.5),
        lambda x: gae(x, 0.5, values, 0.75),
    )
    results = programs.jit(lambda x: [function(x) for function in functions])
    gradients = programs.jit(
        lambda x: [
            jax.grad(lambda x: jnp.sum(function(x)))(x)
            for function in functions
        ]
    )
    for run in (results, gradients):
      wanted = run(x)
      with jax.set_mesh(mesh):
        found = run(jax.device_put(x, split))
      for got, want in zip(found, wanted, strict=True):
        self._close(np.asarray(got), np.asarray(want), got.dtype, 100)

  def test_gradients(self):
    x, alpha = self._uniform(7, 3), self._uniform(3)
    jax.test_util.check_grads(
        jax.jit(lambda x, alpha: ema(x, alpha, axis=0)), (x, alpha), 2, ["rev"]
    )
    jax.test_util.check_grads(
        jax.jit(lambda *xs: gae(*xs, 0.75)),
        (x[1:], self._uniform(6, 3), x),
        1,
        ["rev"],
    )

  def test_refusals(self):
    x = np.ones((4, 3))
    for call in (
        lambda: ema(x, 0.5, axis=2),
        lambda: ema(x, np.ones(4)),
        lambda: ema(x, np.ones((2, 4, 3))),
        lambda: ema(x[:, :1], np.ones((4, 3)), axis=0),
        lambda: ema(x[0], 0.5, np.ones(2)),
        lambda: ema(x[:0], 0.5, np.ones(2), axis=0),
        lambda: ema(x, 0.5, np.ones(3)),
        lambda: gae(x, 0.5, x, 0.5),
        lambda: gae(x, 0.5, x, 0.5, axis=2),
        lambda: gae(x[:, :1], x, np.ones((5, 1)), x[:, :1]),
        lambda: gae(x, 0.5, np.ones((5, 3)), np.ones((2, 4, 3))),
        lambda: discounted_returns(x[0], 0.5, np.ones(2)),
        lambda: discounted_returns(x, np.ones(4)),
    ):
      with self.assertRaises(ValueError):
        call()
    for call in (
        lambda: ema(np.ones(3, int), 0.5),
        lambda: ema(x, 0.5j),
        lambda: ema(x, 0.5, 1j),
        lambda: ema(x, 0.5, axis=None),
        lambda: gae(x, 0.5, 1j * np.ones((5, 3)), 0.5),
        lambda: gae(x, 0.5, np.ones((5, 3)), 0.5, axis=1.0),
        lambda: gae(np.ones(3, int), 0.5, np.ones(4), 0.5),
        lambda: discounted_returns(np.ones(3, int), np.ones(3, int)),
    ):
      with self.assertRaises(TypeError):
        call()


if __name__ == "__main__":
  absltest.main()
