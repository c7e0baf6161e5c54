# SPDX-License-Identifier: Apache-2.0
"""Numbers that know their error: what the suite takes for exact is exact."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from jax_ffi_ops.kit.testing.exactness.bounded import Bounded


class BoundedTest(parameterized.TestCase):

  @parameterized.product(
      dtype=(np.float32, np.float64), ufunc=(np.add, np.subtract)
  )
  def test_sum_of_two_is_rounded_once(self, dtype, ufunc):
    x, y = np.random.default_rng(0).normal(size=(2, 100_000)).astype(dtype)
    # One sum in 4000 differs where a sum of long doubles is rounded once more.
    y *= dtype(2.0**-20)
    found = ufunc(Bounded.load(x, dtype), Bounded.load(y, dtype))
    np.testing.assert_array_equal(found.value, ufunc(x, y))
    np.testing.assert_array_equal(found.error, 0)

  @parameterized.parameters(
      ("...n,...n->...", (5, 9), (5, 9)),
      ("...mn,...np->...pm", (5, 3, 9), (4, 1, 9, 2)),
      ("...nn->...n", (5, 3, 3)),
      ("...mn,...nm->...", (3, 9), (5, 9, 3)),
      ("...mn,...m,...->...n", (3, 9), (3,), ()),
      ("...n->...n", (5, 9)),
  )
  def test_einsum(self, subscripts, *shapes):
    """It is numpy's, and its bounds hold for what float32 computes."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    found = np.einsum(
        subscripts, *(Bounded.load(x, np.float32) for x in arrays)
    )
    exact = np.einsum(subscripts, *(x.astype(np.longdouble) for x in arrays))
    self.assertEqual(found.shape, exact.shape)
    np.testing.assert_allclose(found.value, exact, rtol=1e-15)
    rounded = np.einsum(subscripts, *arrays)
    np.testing.assert_array_less(np.abs(rounded - exact), found.error)
    np.testing.assert_array_less(found.error, 1e-4)

  def test_einsum_adds_one_term_after_the_other(self):
    ones = np.ones(3, np.float32)
    found = np.einsum("i,i->", *[Bounded(ones, np.float32)] * 2)
    u = np.finfo(np.float32).eps / 2  # Of each of 3 products and 3 additions.
    self.assertAlmostEqual(found.error / (3 * 4 * u), 1, places=5)

  @parameterized.parameters(
      (lambda x, y: np.concatenate([x, y], -1),),
      (lambda x, y: np.stack([x, y], axis=1),),
      (lambda x, y: np.flip(x, -1),),
      (lambda x, y: np.where([True, False, True], x, y),),
  )
  def test_copies(self, function):
    values, errors = np.random.default_rng(0).uniform(1, 2, (2, 2, 5, 3))
    found = function(*map(Bounded, values, [np.float32] * 2, errors))
    np.testing.assert_array_equal(found.value, function(*values))
    np.testing.assert_array_equal(found.error, function(*errors))

  def test_copies_of_numbers_have_the_errors_of_their_rounding(self):
    x = Bounded([1.0, 2.0, 3.0], np.float32, 0.25)
    padded = np.concatenate([x, [0.5]])
    np.testing.assert_array_equal(padded.value, [1, 2, 3, 0.5])
    np.testing.assert_array_equal(padded.error, [0.25, 0.25, 0.25, 0])
    chosen = np.where([True, False, True], x, 0.1)
    np.testing.assert_array_equal(
        chosen.error, [0.25, np.float32(0.1) - np.longdouble(0.1), 0.25]
    )

  def test_copy_of_a_subnormal_number(self):
    least = np.finfo(np.float32).smallest_normal
    x = Bounded.load(np.array([least / 4, 1], np.float32), np.float32)
    copied = np.flip(x, -1).rounded(np.float32)
    for y in ([1, least / 4], [1, 0]):
      self.assertIsNone(copied.problem(np.array(y, np.float32)))
    self.assertIn("got 2", copied.problem(np.array([1, 2], np.float32)))

  def test_what_a_definition_cannot_use(self):
    x = Bounded([1.0, 2.0], np.float32)
    for function in (np.cumsum, np.roll):
      with self.assertRaisesRegex(TypeError, r"another layout, .* x\.map"):
        function(x, 1)
    with self.assertRaisesRegex(TypeError, "condition .* plain array"):
      np.where(x, x, x)


if __name__ == "__main__":
  absltest.main()
