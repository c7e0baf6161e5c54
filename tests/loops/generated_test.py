# SPDX-License-Identifier: Apache-2.0
"""Generated programs that are compiled, forward and back, against jax.

The build compiled them, or this process does: see MODULE.

Programs of small integers agree in all bits. Smooth ones are as far from
float64 as their own bounds say.
"""

import importlib
import math
import os

from absl.testing import absltest
from absl.testing import parameterized
import generated
import jax
import numpy as np
import smooth_programs

import programs

_GROUP = int(os.environ["GROUP"])
_MODULE = os.environ["MODULE"]
# 11: a vector, and a part of one.
_ROWS = [int(n) for n in os.environ.get("ROWS", "11").split()]
_SMOOTH = generated.is_smooth(_GROUP)
_SPECIAL = [False] if _SMOOTH else [False, True]


def _operands(seed, rows, special=False):
  module = smooth_programs if _SMOOTH else programs
  return module.operands(np.random.default_rng(seed), rows, special)


def _op():
  return importlib.import_module(_MODULE).op


def _with_bounds(seed):
  """Returns a smooth program in float64, and a list for bounds when it runs."""
  bounded = smooth_programs.program(seed, generated.is_differentiable(_GROUP))
  bounds = []

  def function(*operands):
    bounds[:] = bounded(*operands)
    return tuple(x.array for x in bounds)

  return function, bounds


def _cotangents(rng, results):
  for x in results:
    if x.dtype != np.float32:
      yield np.zeros(x.shape, jax.dtypes.float0)
    elif _SMOOTH:
      yield rng.uniform(-1, 1, x.shape).astype(np.float32)
    else:
      yield rng.integers(-2, 3, x.shape).astype(np.float32)


class ValuesTest(parameterized.TestCase):

  @parameterized.product(rows=_ROWS, special=_SPECIAL)
  def test_values(self, rows, special):
    operands = [
        _operands(seed, rows, special) for seed in generated.seeds(_GROUP)
    ]
    got = iter(jax.jit(_op())(*sum(operands, ())))
    for seed, function, (x, n) in zip(
        generated.seeds(_GROUP), generated.functions(_GROUP), operands
    ):
      if _SMOOTH:
        function, bounds = _with_bounds(seed)
        with jax.enable_x64(True):
          expected = jax.jit(jax.vmap(function))(np.float64(x), n)
        for want, bound in zip(expected, bounds):
          # One more for its last rounding.
          atol = (bound.error + 1) * 2**-24
          np.testing.assert_allclose(next(got), want, rtol=0, atol=atol)
        continue
      for want in jax.jit(jax.vmap(function))(x, n):
        found = next(got)
        self.assertEqual(found.dtype, want.dtype)
        # 0 and -0 are equal, as are all NaNs: the programs ask for no sign.
        np.testing.assert_array_equal(found, want, f"seed {seed}")


class GradientsTest(parameterized.TestCase):

  @parameterized.product(rows=_ROWS)
  def test_gradients(self, rows):
    operands, cotangents = [], []
    for seed, function in zip(
        generated.seeds(_GROUP), generated.functions(_GROUP)
    ):
      operands.append(_operands(seed, rows))
      results = jax.eval_shape(jax.vmap(function), *operands[-1])
      cotangents.append(
          tuple(_cotangents(np.random.default_rng(seed), results))
      )
    pull = lambda xs: jax.vjp(_op(), *xs)[1](sum(cotangents, ()))[::2]
    found = jax.jit(pull)(sum(operands, ()))
    for seed, function, (x, n), own, got in zip(
        generated.seeds(_GROUP), generated.functions(_GROUP), operands,
        cotangents, found, strict=True,
    ):  # fmt: skip
      if _SMOOTH:
        self._check_smooth(seed, x, n, own, got)
        continue
      mapped = jax.vmap(function)
      pull = lambda x, own: jax.vjp(lambda x: mapped(x, n), x)[1](own)
      (want,) = jax.jit(pull)(x, own)
      # Larger ones are sums of terms that float32 may not hold.
      exact = np.abs(want) < 2**16
      self.assertGreater(exact.mean(), 0.9, f"seed {seed}")
      got, want = np.where(exact, got, 0), np.where(exact, want, 0)
      np.testing.assert_array_equal(got, want, f"seed {seed}")

  def _check_smooth(self, seed, x, n, cotangents, got):
    function, bounds = _with_bounds(seed)
    mapped = jax.vmap(function)
    pull = lambda x, own: jax.vjp(lambda x: mapped(x, n), x)[1](own)
    with jax.enable_x64(True):
      (want,) = jax.jit(pull)(
          np.float64(x), tuple(np.float64(c) for c in cotangents)
      )
    # Each result adds the error of its derivative. A sum of n terms, one after
    # the other, rounds the first one n times.
    sizes = [math.prod(v.array.shape) for v in bounds]
    atol = sum(
        n * (v.slope_error + sum(sizes) * v.slope)
        for n, v in zip(sizes, bounds)
    )
    np.testing.assert_allclose(got, want, rtol=0, atol=atol * 2**-24)


if not generated.is_differentiable(_GROUP):
  del GradientsTest


if __name__ == "__main__":
  absltest.main()
