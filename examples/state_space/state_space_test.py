# SPDX-License-Identifier: Apache-2.0
"""The model learns, and all ways to compute its states give the same one."""

from absl.testing import absltest
import jax
import numpy as np
import state_space

_OURS, *_OTHERS = state_space.RECURRENCES.values()
_N = 50  # One length for all tests: programs are compiled once.


def _by_hand(weights, sequences):
  """The prediction, by a loop in float64."""
  w = {name: np.float64(x) for name, x in weights.items()}
  h = 0
  for u in np.moveaxis(np.float64(sequences), 1, 0):
    size = np.log1p(np.exp(u @ w["size"] + w["size_bias"]))
    h = np.exp(-size) * h + size * (u @ w["input"] + w["input_bias"])
  return h @ w["output"]


class StateSpaceTest(absltest.TestCase):

  def test_prediction(self):
    weights = state_space.parameters()
    sequences, _ = state_space.problem(jax.random.key(0), _N)
    want = _by_hand(weights, sequences)
    predict = jax.jit(state_space.predict, static_argnums=2)
    for recurrence in state_space.RECURRENCES.values():
      found = predict(weights, sequences, recurrence)
      np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)

  def test_same_gradients(self):
    weights = state_space.parameters()
    batch = state_space.problem(jax.random.key(0), _N)
    gradient = jax.jit(jax.grad(state_space.loss), static_argnums=3)
    ours = gradient(weights, *batch, _OURS)
    for recurrence in _OTHERS:
      for name, x in gradient(weights, *batch, recurrence).items():
        size = np.max(np.abs(x))
        np.testing.assert_allclose(ours[name], x, atol=1e-4 * size)

  def test_sums(self):
    sequences, sums = state_space.problem(jax.random.key(3), 10)
    marks = np.asarray(sequences[..., 1])
    np.testing.assert_array_equal(marks[:, :5].sum(1), 1)
    np.testing.assert_array_equal(marks[:, 5:].sum(1), 1)
    for x, mark, total in zip(sequences[..., 0], marks, sums):
      self.assertAlmostEqual(float(x[mark == 1].sum()), float(total), places=6)

  def test_it_learns(self):
    """To say 1 always has a loss of 1/6, the variance of two such numbers."""
    losses = state_space.train(400, _N, _OURS)
    self.assertLess(np.mean(losses[-20:]), 1 / 12)

  def test_times(self):
    for milliseconds in state_space.times(_N, rounds=1).values():
      self.assertGreater(milliseconds, 0)


if __name__ == "__main__":
  absltest.main()
