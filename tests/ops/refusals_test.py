# SPDX-License-Identifier: Apache-2.0
"""What jax refuses as a static argument, our functions refuse by its error."""

import inspect

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import namesakes
import numpy as np

import jax_ffi_ops

_WRONG = 0, True, 1.5, "a", None, np.True_, jnp.bool_(True), (1,), [1], object()
# What is given where the argument in question is another one.
_GIVEN = {"k": 3, "kth": 3, "q": 0.5, "size": 5}
# Ours are SciPy's: jax has only a part of them.
_OTHERS = {("map_coordinates", x) for x in ("mode", "cval")}


def _array(*shape):
  return np.random.default_rng(0).normal(size=shape).astype(np.float32)


# By number of elements, or rows of them, what else than one array is passed.
_OPERANDS = {
    "histogram": lambda n: [_array(2**15 + n)],
    "histogram2d": lambda n: [_array(2**15 + n)] * 2,
    "map_coordinates": lambda n: [_array(64, n), [_array(n)] * 2, 1],
    "permutation": lambda n: [jax.random.key(0), _array(64, n)],
    "sort_key_val": lambda n: [_array(64, n)] * 2,
    "tridiagonal_solve": lambda n: [*_array(3, 64, n), _array(64, n, 8)],
}


def _calls():
  for name, theirs in namesakes.NAMESAKES.items():
    if namesakes.is_scipys(name):
      continue
    count = len(_OPERANDS.get(name, lambda n: [None])(2))
    for argument in [*inspect.signature(theirs).parameters][count:]:
      if (name, argument) not in _OTHERS:
        yield name, argument


def _outcome(function, operands, given, argument, value, is_traced):
  """Returns shapes and dtypes, or what kind of error it is."""

  def run(value):
    return function(*operands, **given | {argument: value})

  try:
    if is_traced:
      return str(jax.eval_shape(run, value))
    # Some flags are looked at when a program is lowered.
    return str(jax.jit(lambda: run(value)).lower().out_info)
  except Exception as error:  # pylint: disable=broad-exception-caught
    return type(error)


class RefusalsTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax_ffi_ops.kit.using("handler if served"))

  @parameterized.parameters(*_calls())
  def test_wrong(self, name, argument):
    theirs, ours = namesakes.NAMESAKES[name], getattr(jax_ffi_ops, name)
    names = inspect.signature(theirs).parameters
    given = {x: value for x, value in _GIVEN.items() if x in names}
    values = [(x, False) for x in _WRONG] + [(True, True), (1, True)]
    # Other shapes each time: jax's caches take 0 for False.
    for n, (value, is_traced) in enumerate(values, 70):
      operands = _OPERANDS.get(name, lambda n: [_array(64, n)])(n)
      want, found = (
          _outcome(f, operands, given, argument, value, is_traced)
          for f in (theirs, ours)
      )
      self.assertEqual(found, want, (value, is_traced))


if __name__ == "__main__":
  absltest.main()
