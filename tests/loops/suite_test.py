# SPDX-License-Identifier: Apache-2.0
"""The suite passes for loops whose handlers the build wrote."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import bits
import hmm
import jax
import jax.numpy as jnp
import kalman
import lorenz
import lqr
import metropolis
import needleman_wunsch
import numpy as np
import relaxation

from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
import python_process


def _near(value, scale=0.1):
  """Returns what draws values near one."""
  return lambda rng, shape: value + scale * rng.normal(size=shape)


def _positive(rng, shape):
  """Positive definite matrices."""
  x = 0.3 * rng.normal(size=shape)
  return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


def _contracting(rng, shape):
  return 0.5 * np.eye(shape[-1]) + 0.1 * rng.normal(size=shape)


class LorenzTest(testing.OpTest):
  case = Case(
      lorenz.lorenz,
      [
          Operand((3,)),
          Operand((3,), values=_near([10, 28, 8 / 3])),
          Operand((5,), values=_near(1e-3, 1e-4)),
      ],
  )


class KalmanTest(testing.OpTest):
  case = Case(
      kalman.kalman,
      [
          Operand((5, 2)),
          Operand((4,)),
          Operand((4, 4), values=_positive),
          Operand((4, 4), values=_contracting),
          Operand((2, 4)),
          Operand((4, 4), values=_positive),
          Operand((2, 2), values=_positive),
      ],
  )


class LqrTest(testing.OpTest):
  case = Case(
      lqr.lqr,
      [
          Operand((4,)),
          Operand((4, 4), values=_contracting),
          Operand((4, 2)),
          Operand((4, 4), values=_positive),
          Operand((2, 2), values=_positive),
          Operand((5,), values=_near(1)),
      ],
  )


class NeedlemanWunschTest(testing.OpTest):
  case = Case(
      needleman_wunsch.needleman_wunsch,
      [Operand((5, 6)), Operand(values=_near(-0.5))],
  )


class HmmTest(testing.OpTest):
  case = Case(hmm.hmm, [Operand((3,)), Operand((3, 3)), Operand((5, 3))])


class MetropolisTest(parameterized.TestCase):
  """Keys are no numbers: the suite's integers would be the same key."""

  @parameterized.parameters(1, 9)
  def test_values(self, rows):
    rng = np.random.default_rng(0)
    key = rng.integers(0, 2**32, (rows, 2), np.uint32)
    x = rng.normal(size=(rows, 2)).astype(np.float32)
    widths = np.ones((rows, 50), np.float32)
    got = metropolis.metropolis(key, x, widths)
    expected = jax.jit(jax.vmap(metropolis.reference))(key, x, widths)
    # The same proposals are taken; each adds the error of a normal number.
    np.testing.assert_allclose(got, expected, rtol=0, atol=50 * 2e-6)


class RowsTest(parameterized.TestCase):

  @parameterized.product(
      op=(
          (hmm.hmm, ((3,), (3, 3), (5, 3))),
          (lqr.lqr, ((4,), (4, 4), (4, 2), (4, 4), (2, 2), (5,))),
          (needleman_wunsch.needleman_wunsch, ((5, 6), ())),
      ),
      value=(np.nan, np.inf, -np.inf),
  )
  def test_infinite_and_nan_rows_stay_alone(self, op, value):
    op, cores = op
    rng = np.random.default_rng(0)
    finite = [rng.normal(size=(11, *x)).astype(np.float32) for x in cores]
    spoiled = [x.copy() for x in finite]
    for x in spoiled:
      x[4] = value

    @jax.jit
    def both_passes(*operands):
      result, pull_back = jax.vjp(op, *operands)
      return result, *pull_back(jnp.ones_like(result))

    others = np.arange(11) != 4
    got = [np.asarray(x) for x in both_passes(*spoiled)]
    self.assertFalse(np.isfinite(got[0][4]))
    for x, want in zip(got, both_passes(*finite), strict=True):
      want = np.asarray(want)
      self.assertEqual(x[others].tobytes(), want[others].tobytes())

  def test_same_bits_in_any_call(self):
    """In other vectors, alone, and with other rows before and behind."""
    rows = 65
    for op, operands, shared in bits.calls(rows, 30):
      together = bits.both_passes(op, operands)
      for begin, end in ((0, 1), (7, 8), (64, 65), (0, 3), (5, 13), (1, 65)):
        part = [
            x if i in shared else x[begin:end] for i, x in enumerate(operands)
        ]
        with kit.using("handler if served"):
          got = bits.both_passes(op, part)
        for x, want in zip(got, together, strict=True):
          if want.shape[:1] != (rows,):
            continue  # A sum over rows.
          want = want[begin:end]
          self.assertEqual(
              x.tobytes(), want.tobytes(), f"{op} {begin} {end}: {x - want}"
          )

  def test_any_number_of_threads(self):
    program = pathlib.Path(__file__).with_name("bits.py")
    processes = [python_process.start(program, NPROC=str(n)) for n in (1, 2, 8)]
    self.assertLen(set(python_process.outputs(self, processes, 200)), 1)


class CoresTest(absltest.TestCase):

  def test_others_run_the_reference(self):
    start, transitions = jnp.zeros(2), jnp.zeros((2, 2))
    text = kit.explain(hmm.hmm, start, transitions, jnp.zeros((7, 2)))
    self.assertIn(
        "no handler was compiled for the cores start float32[2]", text
    )
    got = hmm.hmm(start, transitions, jnp.zeros((7, 2)))
    np.testing.assert_allclose(got, 8 * np.log(2), rtol=1e-6)

  def test_attributes_choose_the_kernel(self):
    x = np.arange(7, dtype=np.float32)
    for steps, weight, runs in (
        (3, 0.25, True),
        (3, 0.5, False),
        (20, 0.1, False),
    ):
      values = {"steps": steps, "weight": weight}
      text = kit.explain(relaxation.relaxation, x, **values)
      self.assertEqual("no handler was compiled" not in text, runs, text)
      expected, largest = np.float64(x), []
      for _ in range(steps):
        largest.append(np.max(expected))
        mean = (np.roll(expected, 1) + np.roll(expected, -1)) / 2
        expected += weight * (mean - expected)
      got = relaxation.relaxation(x, **values)
      # A step has four roundings of numbers up to 6.
      for found, want in zip(got, (expected, largest), strict=True):
        np.testing.assert_allclose(
            found, want, rtol=0, atol=steps * 24 * 2**-24
        )

  def test_others_are_an_error_if_strict(self):
    ys, mean, eye = jnp.zeros((7, 2)), jnp.zeros(3), jnp.eye(3)
    operands = (ys, mean, eye, eye, jnp.zeros((2, 3)), eye, jnp.eye(2))
    with self.assertRaisesRegex(
        ValueError,
        r"kalman: .* no handler was compiled for .* mean float32\[3\]",
    ):
      kalman.kalman(*operands)
    self.assertIn("error (no handler", kit.explain(kalman.kalman, *operands))


if __name__ == "__main__":
  absltest.main()
