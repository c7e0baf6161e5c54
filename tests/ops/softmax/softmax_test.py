# SPDX-License-Identifier: Apache-2.0
"""softmax: its definition, and what is special about it."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import softmax
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Bounded
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.kit.testing.cases import programs


def _definition(x):
  e = np.exp(x - np.max(x, -1, keepdims=True, initial=-np.inf))
  if isinstance(x, Bounded) and x.storage.itemsize == 2:
    # exp_sums.h: what is rounded to 16 bits need not be exact to float32.
    e = Bounded(e.value, e.dtype, e.error + e.value * 2.0**-17)
  return e / np.sum(e, -1, keepdims=True)


def _gradient(y, dy):
  return y * (dy - np.sum(y * dy, -1, keepdims=True))


class SoftmaxTest(testing.OpTest):
  case = Case(
      softmax,
      [Operand((16,))],
      definition=_definition,
      gradient=_gradient,
      namesake=jax.nn.softmax,
  )

  def test_rows_too_long_to_keep(self):
    """Of more than 65536 columns, the CPU computes each exponential twice."""
    x = np.random.default_rng(0).normal(size=(3, 70_000)).astype(np.float32)
    # x - max is at most 10: as many half units in the last place of exp; more
    # are those of exp, the sum and the quotient.
    np.testing.assert_allclose(
        softmax(x), _definition(x.astype(np.float64)), rtol=32 * 2**-24
    )


class ArgumentsTest(parameterized.TestCase):
  """What jax.nn.softmax takes besides, against it."""

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))
    self.x = np.random.default_rng(0).normal(size=(3, 4, 5))

  def _check(self, *arguments):
    """Compares values and gradients, in one program for all arguments."""
    weights = np.sqrt(np.arange(120.0)).reshape(2, 3, 4, 5)

    def results(softmax, x):
      found = []
      for axis, where in arguments:
        y, vjp = jax.vjp(lambda x: softmax(x, axis, where), x)
        found += [y, *vjp(weights if y.ndim == 4 else weights[1])]
      return found

    run = lambda f: programs.jit(functools.partial(results, f))(self.x)
    for found, want in zip(run(softmax), run(jax.nn.softmax)):
      self.assertEqual((found.dtype, found.shape), (want.dtype, want.shape))
      np.testing.assert_allclose(found, want, rtol=1e-13, atol=1e-13)

  def test_axes(self):
    axes = 0, -2, None, (1,), (0, -1), (2, 0), (), np.int32(1)
    self._check(*((axis, None) for axis in axes))

  @parameterized.parameters((3, 4, 5), (5,), (4, 1), (), (2, 3, 4, 5))
  def test_masks(self, *shape):
    """One row has no element that counts, and one a NaN that does not."""
    where = np.random.default_rng(1).uniform(size=shape) < 0.6
    if where.shape == self.x.shape:
      where[1, 2] = False
      where[0, 0] = [True, False, True, True, False]
      self.x[0, 0, 1] = np.nan
    self._check(*((axis, where) for axis in (-1, 0, None, (0, 2))))

  def test_one_for_all(self):
    self._check((-1, True), (-1, False))

  def test_other_dtypes(self):
    """Of integers, jax.nn gives numbers; it takes differences without rounding."""
    for x in (np.arange(6) + 2**30, np.arange(6, dtype=np.int8)):
      np.testing.assert_array_equal(softmax(x), jax.nn.softmax(x), strict=True)
    x = np.array([1j, 2, 3])
    np.testing.assert_array_equal(softmax(x), jax.nn.softmax(x), strict=True)

  @parameterized.parameters(
      (3.0,), ("a",), ([1.0],), (None,), (np.ones(3), 1), (np.ones(3), 1.0),
      (np.ones(3), (0, 0)), (np.ones(3), -1, np.ones(3)), (np.ones(3), -1, "a"),
      (np.ones(3), -1, np.ones(4, bool)), (np.ones(3) > 0,),
  )  # fmt: skip
  def test_errors(self, *args):
    with self.assertRaises((TypeError, ValueError)) as expected:
      jax.nn.softmax(*args)
    with self.assertRaises(type(expected.exception)):
      softmax(*args)


if __name__ == "__main__":
  absltest.main()
