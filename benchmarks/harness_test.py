# SPDX-License-Identifier: Apache-2.0
"""What is timed is all that was asked for, and a bad peer is not the end."""

import dataclasses
import importlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

import accuracy
import entry
import measurement
import pallas_peers
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
    self.assertEqual(list(line.peers), ["jax.numpy"])
    self.assertRegex(str(line), r"; jax.numpy \d+\.\d\d, wrong dropped ")
    self.assertEqual(
        line.dropped,
        {
            "wrong": "inaccurate, relative error 1.0e-02",
            "oom": "RESOURCE_EXHAUSTED",
        },
    )

  def test_an_inaccurate_op_fails(self):
    with self.assertRaisesRegex(RuntimeError, "inaccurate"):
      _measure(lambda x, scale: _plain(x, scale) * jnp.nan)

  @parameterized.parameters("forward", "both")
  def test_errors_are_those_of_all_rows(self, direction):
    """Rows are compared in chunks, and gradients of weights are sums of them."""
    ((operands, cotangents),) = _ENTRY.make_sets((7, 4), "float32", 1)
    arrays = operands, cotangents
    results = variants.run_pass(_plain, direction, *arrays)
    last_row = results[0].at[6].multiply(1.5)
    changed = (last_row, *(1.25 * x for x in results[1:]))
    with mock.patch.object(accuracy, "_CHUNK", 9):  # 2 rows at a time.
      errors, wrong = (
          accuracy.relative_errors(_plain, direction, arrays, x)
          for x in (results, changed)
      )
    self.assertLess(max(errors), 1e-6)
    norm = jnp.linalg.norm
    self.assertAlmostEqual(
        wrong[0], float(0.5 * norm(results[0][6]) / norm(results[0])), places=5
    )
    np.testing.assert_allclose(wrong[1:], 0.25, rtol=1e-5)

  def test_entries_are_of_modules(self):
    """torch.compile drops out else."""
    found = entry.load("rms_norm")
    module = importlib.import_module(found.torch["torch"].__module__)
    self.assertIs(module.ENTRY, found)

  @parameterized.parameters(
      ("rms_norm", 1e-6), ("layer_norm", 1e-6), ("softmax", None)
  )
  def test_kernels_of_pallas(self, op, eps):
    found = pallas_peers.peers(op, eps, interpret=True)
    entry_peers = entry.load(op).peers
    ((operands, _),) = entry.load(op).make_sets((3, 200), "float32", 1)
    for peer in found.values():
      np.testing.assert_allclose(
          peer(*operands),
          entry_peers["jax.numpy"](*operands),
          rtol=1e-4,
          atol=1e-5,
      )
    # Without a GPU they are no peers.
    self.assertNotIn("pallas", entry_peers)

  def test_weights_are_the_same_in_all_sets(self):
    one, other = _ENTRY.make_sets((8, 4), "float32", 2)
    self.assertIs(one[0][1], other[0][1])
    self.assertFalse((one[0][0] == other[0][0]).any())
    self.assertEqual(jax.tree.map(jnp.shape, one), (((8, 4), (4,)), ((8, 4),)))


if __name__ == "__main__":
  absltest.main()
