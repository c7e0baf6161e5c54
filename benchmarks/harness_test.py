# SPDX-License-Identifier: Apache-2.0
"""What is timed is all that was asked for, and a bad peer is not the end."""

import dataclasses

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp

import entry
import measurement
import variants


def _plain(x, scale):
  return jnp.tanh(x) * scale


_ENTRY = entry.Entry(
    function=_plain,
    operands=lambda rows, cols: ((rows, cols), (cols,)),
    forward=2,
    backward=3,
    peers={"jax.numpy": _plain},
)


def _measure(function=_plain, **peers):
  changed = dataclasses.replace(
      _ENTRY, function=function, peers=_ENTRY.peers | peers
  )
  return measurement.measure(
      changed,
      (8, 4),
      "float32",
      "both",
      peers=changed.peers,
      repeats=1,
      on_device=False,
  )


class HarnessTest(parameterized.TestCase):

  @parameterized.product(direction=("forward", "both"), sets=(1, 3))
  def test_no_call_is_left_out(self, direction, sets):
    calls = 7
    variant = variants.of_peer(
        _plain, direction, _ENTRY.make_sets((8, 4), "float32", sets)
    )
    text = variant.program(calls).run.func.as_text()
    self.assertEqual(text.count(" tanh("), calls, text)
    # The gradients of the weights.
    sums = 0 if direction == "forward" else calls
    self.assertEqual(text.count(" reduce("), sums, text)

  def test_bad_peers_are_dropped(self):
    def fails(x, scale):
      raise RuntimeError("RESOURCE_EXHAUSTED\nmore")

    line = _measure(wrong=lambda x, scale: 1.01 * _plain(x, scale), oom=fails)
    self.assertRegex(line, r"; jax.numpy \d+\.\d\d, ")
    self.assertIn("wrong dropped (inaccurate, relative error 1.0e-02)", line)
    self.assertIn("oom dropped (RESOURCE_EXHAUSTED)", line)

  def test_an_inaccurate_op_fails(self):
    with self.assertRaisesRegex(RuntimeError, "inaccurate"):
      _measure(lambda x, scale: _plain(x, scale) * jnp.nan)

  def test_weights_are_the_same_in_all_sets(self):
    one, other = _ENTRY.make_sets((8, 4), "float32", 2)
    self.assertIs(one[0][1], other[0][1])
    self.assertFalse((one[0][0] == other[0][0]).any())
    self.assertEqual(jax.tree.map(jnp.shape, one), (((8, 4), (4,)), ((8, 4),)))


if __name__ == "__main__":
  absltest.main()
