# SPDX-License-Identifier: Apache-2.0
"""What is timed is all that was asked for, and a bad peer is not the end."""

import dataclasses
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

import accuracy
import benchmark
from jax_ffi_ops.doctor import timed
from jax_ffi_ops.timing import operands
from jax_ffi_ops.timing import passes
from jax_ffi_ops.timing import rounds
from jax_ffi_ops.timing.case import Timed
from jax_ffi_ops.timing.cases import CASES
from jax_ffi_ops.timing.operands import array
from jax_ffi_ops.timing.operands import indices
from jax_ffi_ops.timing.operands import weight
import levels_benchmark
import measurement
import programs


def _plain(x, scale):
  return jnp.tanh(x) * scale


_ROWS = Timed(
    function=lambda x, scale, in_place=False: _plain(x, scale),
    operands=lambda rows, cols: (array(rows, cols), weight(cols)),
    sizes=("8x4",),
    streams={"forward": 2, "backward": 3},
    peers={"jax.numpy": _plain},
    libraries={"numpy": lambda x, scale: np.tanh(x) * scale},
)


def _largest(x, places, *, count):
  values, found = jax.lax.top_k(x[places], count)
  return values, found


# Of integers too, with an attribute; no operand is a matrix.
_LARGEST = Timed(
    function=_largest,
    operands=lambda n, m, count: (array(n), indices(n, m)),
    sizes=("9x7x3",),
    streams={"forward": 1, "backward": 1},
    peers={"jax.numpy": _largest},
    attributes=lambda n, m, count: {"count": count},
)


def _measure(known=_ROWS, direction="both", way="call", **changes):
  return measurement.measure(
      dataclasses.replace(known, **changes),
      known.sizes[0],
      "float32",
      direction,
      way,
      count=1,
      calls=3,
  )


class HarnessTest(parameterized.TestCase):

  @parameterized.parameters(*measurement.TIMINGS)
  def test_ways(self, way):
    line = _measure(_ROWS, "forward", way)
    numpys = {"numpy"} if way in ("call", "program") else set()
    self.assertGreater(line.seconds, 0)
    self.assertEqual(set(line.peers), {"jax.numpy"} | numpys)
    names = {"ours", "jax.numpy", "copy"} | numpys
    self.assertEqual(set(line.quartiles), names)
    self.assertEqual(line.ulps["ours"], line.ulps["jax.numpy"])
    self.assertEqual(line.dropped, {})

  @parameterized.parameters("call", "program")
  def test_integers_and_attributes(self, way):
    line = _measure(_LARGEST, "both", way)
    self.assertEqual(list(line.peers), ["jax.numpy"])
    self.assertLess(line.ulps["ours"], 1)  # Of the gradient: a sum.

  def test_backward(self):
    line = _measure(_LARGEST, "backward")
    self.assertEqual(set(line.peers), {"jax.numpy", "jax.numpy, kept"})

  @parameterized.product(direction=("forward", "both"), sets=(1, 3))
  def test_no_call_is_left_out(self, direction, sets):
    calls = 7
    made = _ROWS.make_sets("8x4", "float32", sets)
    run = lambda _, arrays: passes.run(_plain, direction, *arrays)
    graph = programs.graph(run, [((), arrays) for arrays in made], calls)
    text = graph.func.as_text()
    self.assertEqual(text.count(" tanh("), calls, text)
    # The gradients of the weights.
    sums = 0 if direction == "forward" else calls
    self.assertEqual(text.count(" reduce("), sums, text)

  def test_nothing_leaves_a_loop(self):
    made = _ROWS.make_sets("8x4", "float32", 1)
    run = lambda _, arrays: passes.run(_plain, "forward", *arrays)
    loop = programs.compiled_loop(run, ((), made[0]))
    text = loop.as_text()
    body, entry_computation = text.split("\nENTRY")
    self.assertIn(" tanh(", body)
    self.assertNotIn(" tanh(", entry_computation)
    self.assertNotRegex(text, r"f32\[8,4\]\S* copy\(")
    self.assertRegex(body, r"custom-call\(.*benchmarks_barrier")

  def test_bad_peers_are_dropped(self):
    def fails(x, scale):
      raise RuntimeError("RESOURCE_EXHAUSTED\nmore")

    wrong = lambda x, scale: 1.01 * _plain(x, scale)
    line = _measure(peers=_ROWS.peers | {"wrong": wrong, "oom": fails})
    self.assertEqual(list(line.peers), ["jax.numpy"])
    self.assertRegex(
        str(line), r"; jax.numpy \d+\.\d\d× \(\d\.\d\), wrong drop"
    )
    self.assertEqual(
        line.dropped,
        {
            "wrong": "inaccurate, relative error 1.0e-02",
            "oom": "RESOURCE_EXHAUSTED",
        },
    )

  def test_an_inaccurate_op_fails(self):
    with self.assertRaisesRegex(RuntimeError, "inaccurate"):
      _measure(function=lambda x, scale: _plain(x, scale) * jnp.nan)

  def test_errors(self):
    """In ulps of an element, or of the root mean square of all."""
    want = np.array([3.0, 4.0, 0.0, 0.0])  # Their root mean square is 2.5.
    ulp = np.spacing(np.float32(2.5))
    got = want.astype(np.float32) + np.float32([0, 0, 0, 8 * ulp])
    error = accuracy.error([got], [want])
    self.assertAlmostEqual(error.ulps, 8)
    self.assertAlmostEqual(error.relative, 8 * ulp / 5)
    got[1] += 6 * np.spacing(np.float32(4))
    self.assertAlmostEqual(accuracy.error([got], [want]).ulps, 8)
    got[1] = np.nan
    self.assertTrue(np.isnan(accuracy.error([want, got], [want, want]).ulps))
    error = accuracy.error([np.int32([1, 5])], [np.int32([1, 2])])
    self.assertEqual(error.ulps, 3)

  def test_rounds(self):
    """Medians and quartiles; ratios are within a round."""
    one, other = ([n * i for i in range(1, 6)] for n in (1, 2))
    samplers = {"one": iter(one).__next__, "other": iter(other).__next__}
    timings = rounds.interleave(samplers, 5)
    self.assertEqual(timings["one"].seconds, (2, 3, 4))
    self.assertEqual(timings["other"].speedup, (2, 2, 2))

  def test_programs_do_not_count_what_they_do_once(self):
    """Even if the first run, and one when calls are counted, take long."""
    now, slow = [0.0], iter([1, 0, 1])

    def program(calls):
      now[0] += 1e-3 + 1e-4 * calls + next(slow, 0)

    with mock.patch.object(rounds, "clock", lambda: now[0]):
      seconds = rounds.enqueued(program, wait=lambda _: None)()
    self.assertLess(seconds, 1.3e-4)

  def test_lines(self):
    patterns = ["softmax/8x4/b*/both", "rms_norm/3x5/float64"]
    self.assertEqual(
        list(map("/".join, benchmark.lines(patterns, gpu=False))),
        [
            "softmax/8x4/bfloat16/both/call",
            "rms_norm/3x5/float64/forward/call",
            "rms_norm/3x5/float64/backward/call",
            "rms_norm/3x5/float64/both/call",
        ],
    )
    every = list(map("/".join, benchmark.lines(["*"], gpu=True)))
    self.assertIn("softmax/65536x8192/float16/both/device", every)
    self.assertNotIn("softmax/8x4/float16/both/call", every)
    with self.assertRaisesRegex(SystemExit, "^No op 'sotfmax'; .* softmax"):
      benchmark.lines(["sotfmax/8x4"], gpu=False)

  def test_lines_of_levels(self):
    """All functions, with all dtypes of their handlers."""
    every = list(levels_benchmark.all_lines())
    functions = {line.split("/")[0] for line in every}
    self.assertEqual(functions, set(CASES))
    self.assertIn("sort/1x1048576/uint8/forward", every)
    self.assertEqual(
        levels_benchmark.chosen(["nanmedian/8x4/float*", "gae/128x8/f*32"]),
        [f"nanmedian/8x4/float{n}/forward" for n in (16, 32, 64)]
        + ["gae/128x8/float32/forward"],
    )
    with self.assertRaisesRegex(SystemExit, "^No line matches 'sotr'"):
      levels_benchmark.chosen(["sotr"])

  def test_line_without_time(self):
    told = timed.measured("sort/8x4/float7/forward")
    self.assertRegex(told["error"], "float7")

  def test_gradients_of_complex_numbers(self):
    double = lambda x: 2 * x
    ((x,), (dy,)), *_ = operands.make_sets([array(3)], double, "complex64", 1)
    (dx,) = passes.run(double, "backward", (x,), (dy,))
    np.testing.assert_allclose(dx, 2 * dy)

  def test_weights_are_the_same_in_all_sets(self):
    one, other = _ROWS.make_sets("8x4", "float32", 2)
    self.assertIs(one[0][1], other[0][1])
    self.assertFalse((one[0][0] == other[0][0]).any())
    self.assertEqual(jax.tree.map(jnp.shape, one), (((8, 4), (4,)), ((8, 4),)))


if __name__ == "__main__":
  absltest.main()
