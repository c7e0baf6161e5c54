# SPDX-License-Identifier: Apache-2.0
"""How long a state lives, and what happens to calls with side effects."""

import gc

from absl.testing import absltest
from counter import alive
from counter import careless_counter
from counter import counter
from counter import tick
import jax
import numpy as np

_ZERO = np.int64(0)


class CounterTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    gc.collect()
    self._before = int(alive())

  def _made(self):
    """Returns how many calls of counters the compiled programs have."""
    gc.collect()
    return int(alive()) - self._before

  def test_state_lives_as_long_as_the_program(self):
    program = jax.jit(lambda: counter(_ZERO, start=5)).lower().compile()
    self.assertEqual([int(program()) for _ in range(3)], [5, 6, 7])
    self.assertEqual(self._made(), 1)
    again = jax.jit(lambda: counter(_ZERO, start=5)).lower().compile()
    self.assertEqual(int(again()), 5)
    self.assertEqual(self._made(), 2)
    del program, again
    self.assertEqual(self._made(), 0)

  def test_each_call_has_a_state_of_its_own(self):
    program = jax.jit(
        lambda: [counter(_ZERO, start=0), counter(_ZERO, start=0)]
    )
    self.assertEqual([int(x) for x in program()], [0, 0])
    self.assertEqual([int(x) for x in program()], [1, 1])

  def test_without_side_effects_equal_calls_are_one(self):
    merged = jax.jit(
        lambda: [careless_counter(_ZERO, start=0) for _ in range(3)]
    )
    merged = merged.lower().compile()
    self.assertEqual(self._made(), 1)
    kept = jax.jit(lambda: [counter(_ZERO, start=0) for _ in range(3)])
    kept = kept.lower().compile()
    self.assertEqual(self._made(), 4)

  def test_without_side_effects_unread_calls_are_dropped(self):
    def careless():
      careless_counter(_ZERO, start=0)
      return 1

    def careful():
      counter(_ZERO, start=0)
      return 1

    dropped = jax.jit(careless).lower().compile()
    self.assertEqual((int(dropped()), self._made()), (1, 0))
    kept = jax.jit(careful).lower().compile()
    self.assertEqual((int(kept()), self._made()), (1, 1))

  def test_a_token_orders_calls(self):
    @jax.jit
    def times():
      token = jax.lax.create_token()
      found = []
      for _ in range(10):
        time, token = tick(token)
        found.append(time)
      return found

    first, *others = map(int, times())
    self.assertEqual(others, list(range(first + 1, first + 10)))

  def test_a_state_that_cannot_be_made(self):
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "example_counter: start must be 0 or more"
    ):
      jax.jit(lambda: counter(_ZERO, start=-1)).lower().compile()()


if __name__ == "__main__":
  absltest.main()
