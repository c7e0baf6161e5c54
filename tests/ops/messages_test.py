# SPDX-License-Identifier: Apache-2.0
"""Messages name the function that a user called; nothing prints warnings."""

import inspect
import warnings

from absl.testing import absltest
from absl.testing import parameterized
import jax
import namesakes
import numpy as np

import jax_ffi_ops


def _array(*shape):
  """Returns float64: without x64, jax makes float32 of it."""
  return np.random.default_rng(0).normal(size=shape)


_BAND = np.array([[0, 1, 1, 1], [4, 5, 6, 7], [1, 1, 1, 0]])
# What else than one array is passed.
_OPERANDS = {
    "add_rms_norm": lambda: [_array(8, 40)] * 2,
    "argpartition": lambda: [_array(8, 40), 3],
    "discounted_returns": lambda: [_array(8, 40), 0.5],
    "ema": lambda: [_array(8, 40), 0.5],
    "gae": lambda: [_array(8, 40), 0.5, _array(9, 40), 0.5],
    "histogram": lambda: [_array(2**15), 9, (0, np.float64(1))],
    "histogram2d": lambda: [*_array(2, 2**15)],
    "lax_sort": lambda: [[_array(8, 40)] * 2],
    "lfilter": lambda: [[1.0, 2.0], [1.0, 0.5], _array(8, 40)],
    "linear_recurrence": lambda: [0.5, _array(8, 40)],
    "map_coordinates": lambda: [_array(8, 40), 3 * _array(2, 6), 3],
    "nanpercentile": lambda: [_array(8, 40), 50.0],
    "nanquantile": lambda: [_array(8, 40), np.float64(0.5)],
    "partition": lambda: [_array(8, 40), 3],
    "percentile": lambda: [_array(8, 40), 50.0],
    "permutation": lambda: [jax.random.key(0), _array(8, 40)],
    "quantile": lambda: [_array(8, 40), np.float64(0.5)],
    "solve_banded": lambda: [(1, 1), _BAND * 1.0, _array(4)],
    "sort_key_val": lambda: [_array(8, 40)] * 2,
    "sosfilt": lambda: [np.array([[1, 2, 1, 1, 0.5, 0.1]]), _array(8, 40)],
    "top_k": lambda: [_array(8, 40), 3],
    "tridiagonal_solve": lambda: [*_array(3, 8, 40), _array(8, 40, 8)],
}
_KEYWORDS = {"nonzero": {"size": 5}, "unique": {"size": 5}}
# Any object says yes or no, or has no effect.
_TAKE_ALL = ("prefilter", "overwrite_ab", "overwrite_b", "check_finite")


def _operands(name):
  return _OPERANDS.get(name, lambda: [_array(8, 40)])()


def _own_arguments():
  """Yields arguments of functions whose messages are their own, and not jax's."""
  for name in namesakes.public_names():
    function = getattr(jax_ffi_ops, name)
    if name in namesakes.ALONE or namesakes.is_scipys(name):
      for argument in inspect.signature(function).parameters:
        if argument not in _TAKE_ALL:
          yield name, argument


class MessagesTest(parameterized.TestCase):

  @parameterized.parameters(*_own_arguments())
  def test_names(self, name, argument):
    function = getattr(jax_ffi_ops, name)
    known = [*inspect.signature(function).parameters]
    given = dict(zip(known, _operands(name)))
    for value in ("text", object(), np.ones((2, 3, 7)), np.ones(3, bool), 0.9j):
      try:
        jax.eval_shape(lambda v=value: function(**given | {argument: v}))
        self.assertNotIsInstance(value, str)
      except (TypeError, ValueError) as error:
        self.assertStartsWith(str(error), f"{name}: ")
        if not isinstance(value, np.ndarray | complex):
          self.assertIn(argument, str(error))
          self.assertIn(repr(value), str(error))

  def test_wrong_right_hand_side(self):
    """Of a system that tridiagonal_solve solves."""
    for b in (np.ones(5), np.ones((3, 1)), np.ones((2, 5, 1)), np.float32(1)):
      with self.assertRaisesRegex(ValueError, "^solve_banded: (ab|b) must"):
        jax_ffi_ops.solve_banded((1, 1), _BAND, b)

  def test_complex_factor(self):
    for b in (np.ones(3, np.float32), np.ones(3)):
      with self.assertRaisesRegex(TypeError, "^linear_recurrence: a .* 0.9j"):
        jax_ffi_ops.linear_recurrence(0.9j, b)

  @parameterized.parameters(*namesakes.public_names())
  def test_no_warnings(self, name):
    """jax narrows arrays of 64 bits without a word."""
    function, operands = getattr(jax_ffi_ops, name), _operands(name)
    call = lambda: function(*operands, **_KEYWORDS.get(name, {}))
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      jax.eval_shape(call)
      with jax_ffi_ops.kit.using("handler if served"):
        jax.eval_shape(call)


if __name__ == "__main__":
  absltest.main()
