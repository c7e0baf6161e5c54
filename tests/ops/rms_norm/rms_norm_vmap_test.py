# SPDX-License-Identifier: Apache-2.0
"""rms_norm under vmap: every axis, nested, operands that are not batched."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np
import rms_norm_oracle as oracle
from rms_norm_oracle import normal

from jax_ffi_ops import rms_norm

jax.config.update("jax_enable_x64", True)


def _batchings(operands):
  """Yields, for two nested vmaps, which of the operands each is over."""
  level = list(itertools.product((True, False), repeat=operands))[:-1]
  return [tuple(zip(*levels)) for levels in itertools.product(level, level)]


def _nested(fn, batchings):
  for level in reversed(list(zip(*batchings))):
    fn = jax.vmap(fn, tuple(0 if batched else None for batched in level))
  return jax.jit(fn)


def _operand(array, batched):
  return array[tuple(slice(None) if axis else 0 for axis in batched)]


def _kept(array, batched):
  """`_operand` with the axes that are not batched as 1, for the oracle."""
  return array[tuple(slice(None if axis else 1) for axis in batched)]


def _pull_back(x, scale, dy):
  return jax.vjp(rms_norm, x, scale)[1](dy)


class RmsNormVmapTest(parameterized.TestCase):

  @parameterized.product(
      axis=(0, 1, 2, 3, -1, -2, -3, -4), scaled=(True, False)
  )
  def test_axis_of_x(self, axis, scaled):
    x = normal((3, 4, 2, 5), "float32")
    scale = normal((5,), "float32", seed=1) if scaled else None
    y = jax.vmap(rms_norm, (axis, None), axis)(np.moveaxis(x, 0, axis), scale)
    oracle.forward(x, scale).check(np.moveaxis(y, axis, 0))

  @parameterized.product(axis=(0, 1, -1, -2), x_axis=(None, 0, 1, 2, -1))
  def test_axis_of_scale(self, axis, x_axis):
    x = normal((1 if x_axis is None else 3, 4, 5), "float16")
    scale = normal((3, 5), "float64", seed=1)
    y = jax.vmap(rms_norm, (x_axis, axis))(
        x[0] if x_axis is None else np.moveaxis(x, 0, x_axis),
        np.moveaxis(scale, 0, axis),
    )
    oracle.forward(x, scale[:, None]).check(y)

  @parameterized.parameters(*_batchings(2))
  def test_nested(self, *batchings):
    x = normal((2, 3, 4, 5), "float32")
    scale = normal((2, 3, 5), "float32", seed=1)
    y = _nested(rms_norm, batchings)(*map(_operand, (x, scale), batchings))
    x, scale = map(_kept, (x, scale[:, :, None]), batchings)
    oracle.forward(x, scale).check(y)

  @parameterized.parameters(*_batchings(3))
  def test_nested_around_gradient(self, *batchings):
    x, dy = (normal((2, 3, 4, 5), "float32", seed) for seed in range(2))
    scale = normal((2, 3, 5), "float32", seed=2)
    actual = _nested(_pull_back, batchings)(
        *map(_operand, (x, scale, dy), batchings)
    )
    x, scale, dy = map(_kept, (x, scale[:, :, None], dy), batchings)
    self.check_gradient(actual, x, scale, dy, summed=(2,))

  @parameterized.parameters(*_batchings(2))
  def test_nested_around_gradient_without_scale(self, *batchings):
    x, dy = (normal((2, 3, 4, 5), "float32", seed) for seed in range(2))
    (dx,) = _nested(lambda x, dy: jax.vjp(rms_norm, x)[1](dy), batchings)(
        *map(_operand, (x, dy), batchings)
    )
    x, dy = map(_kept, (x, dy), batchings)
    self.check_gradient((dx, None), x, None, dy, summed=())

  @parameterized.product(
      axes=((0, 0, 0), (1, 1, 0), (-1, None, 2), (2, -1, 1), (None, -2, -2)),
      dtype=("bfloat16", "float64"),
  )
  def test_axes_around_gradient(self, axes, dtype):
    x, dy = (normal((3, 4, 5), dtype, seed) for seed in range(2))
    scale = normal((3, 5), "float32", seed=2)
    operands = (
        array[0] if axis is None else np.moveaxis(array, 0, axis)
        for array, axis in zip((x, scale, dy), axes)
    )
    actual = jax.vmap(_pull_back, axes)(*operands)
    x = x[:1] if axes[0] is None else x
    scale = scale[:1] if axes[1] is None else scale
    self.check_gradient(actual, x, scale[:, None], dy, summed=(1,))

  # From 64 examples on, the rows of one are not split any more.
  @parameterized.product(examples=(0, 1, 3, 64, 100), rows=(0, 1, 8, 17, 1000))
  def test_scale_gradient_per_example(self, examples, rows):
    shape = (examples, rows, 3)
    x, dy = (normal(shape, "float32", seed) for seed in range(2))
    scale = normal((3,), "float32", seed=2)
    actual = jax.jit(jax.vmap(_pull_back, (0, None, 0)))(x, scale, dy)
    self.check_gradient(actual, x, scale[None, None], dy, summed=(1,))

  @parameterized.parameters((0, 0), (0, None), (None, 0))
  def test_inside_gradient(self, *axes):
    x, dy = (normal((3, 4, 5), "float64", seed) for seed in range(2))
    scale = normal((3, 5), "float64", seed=2)
    operands = (
        array[0] if axis is None else array
        for array, axis in zip((x, scale), axes)
    )
    _, pull_back = jax.vjp(jax.vmap(rms_norm, axes), *operands)
    x = x[:1] if axes[0] is None else x
    scale = scale[:1] if axes[1] is None else scale
    r, error = oracle.rstd(x, 1e-6)
    expected = oracle.backward(
        x, scale[:, None], r, dy, summed=(1,), rstd_error=error
    )
    for axis, actual, (value, error) in zip(axes, pull_back(dy), expected):
      # To add up 3 results takes fewer roundings than each of them has.
      summed = oracle.Expected(value.sum(0), 2 * error.sum(0))
      (summed if axis is None else oracle.Expected(value, error)).check(actual)

  def check_gradient(self, actual, x, scale, dy, summed):
    r, error = oracle.rstd(x, 1e-6)
    dx, dscale = oracle.backward(
        x, scale, r, dy, summed=summed, rstd_error=error
    )
    dx.check(actual[0])
    if scale is not None:
      dscale.check(actual[1])


if __name__ == "__main__":
  absltest.main()
