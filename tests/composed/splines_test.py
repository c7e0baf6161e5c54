# SPDX-License-Identifier: Apache-2.0
"""Splines against scipy.ndimage's, and what SciPy's own tests ask of them.

These cases of scipy/ndimage/tests/test_interpolation.py are here in other words:
test_boundaries, test_boundaries2, test_boundary_spline_accuracy, test_spline01,
test_spline02, test_spline04, test_spline05, test_geometric_transform10,
test_geometric_transform13, test_geometric_transform_grid_constant_order1,
test_geometric_transform_vs_padded, test_map_coordinates01,
test_map_coordinates03.
"""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import jax.test_util
import numpy as np
from scipy import ndimage

from jax_ffi_ops import kit
from jax_ffi_ops import map_coordinates
from jax_ffi_ops import spline_filter
from jax_ffi_ops import spline_filter1d
from jax_ffi_ops.kit.testing.exactness.rounding import gamma

_MODES = (
    "mirror", "reflect", "grid-mirror", "grid-wrap", "wrap", "nearest",
    "constant", "grid-constant",
)  # fmt: skip
# What NumPy calls the modes.
_NUMPY = {
    "mirror": "reflect",
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "grid-wrap": "wrap",
    "nearest": "edge",
    "grid-constant": "constant",
}
# The most by which a filter enlarges numbers: that of order 5, at the highest
# frequency, 15/2.
_GAIN = 7.5
# It goes along a line four times. A step rounds three times, of which a pole of
# at most 0.44 adds up 3 / (1 - 0.44); where it begins there are 3 more, and 3 for
# the pole and the gain. Weights between elements have 15.
_ROUNDINGS = 4 * (6 + 3 + 3) + 15
_IMAGE = np.array([[4, 1, 3, 2], [7, 6, 8, 5], [3, 5, 3, 6]])


def _bound(x, dtype):
  size = np.max(np.abs(x), initial=1) * _GAIN ** np.ndim(x)
  return float(gamma(_ROUNDINGS * max(1, np.ndim(x)), dtype)) * size


_scipys = ndimage.spline_filter1d


def _spline_filter1d(x, order=3, axis=-1, output=np.float64, mode="mirror"):
  """SciPy's, without the error that 1.17 has where it reflects short lines."""
  n = x.shape[axis]
  if _NUMPY.get(mode, mode) not in ("symmetric", "edge") or n < 2:
    return _scipys(x, order, axis, output, mode)
  to = output if isinstance(output, np.ndarray) else None
  both = np.concatenate([x, np.flip(x, axis)], axis)
  dtype = output if to is None else to.dtype
  found = _scipys(both, order, axis, dtype, "grid-wrap")
  return np.take(found, np.arange(n), axis, out=to)


class _Test(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    for module in (ndimage, ndimage._interpolation):
      self.enter_context(
          mock.patch.object(module, "spline_filter1d", _spline_filter1d)
      )
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))
    self._rng = np.random.default_rng(0)

  def _close(self, found, want, x, dtype=np.float64):
    self.assertEqual(found.dtype, dtype)
    bound = 2 * _bound(x, dtype)  # SciPy has errors, too.
    np.testing.assert_allclose(found, want, rtol=0, atol=bound)

  def check_coefficients(self, n, order, mode):
    x = self._rng.normal(size=n)
    want = ndimage.spline_filter1d(x, order, mode=mode)
    self._close(spline_filter1d(x, order, mode=mode), want, x)

  def check_values(self, n, *arguments):
    """Inside and far outside, at ties and between."""
    c = np.concatenate([self._rng.uniform(-30, 40, 50), np.arange(-20, 30) / 2])
    x = self._rng.normal(size=n)
    got = map_coordinates(x, [c], *arguments)
    want = ndimage.map_coordinates(x, [c], None, *arguments)
    self._close(got, want, x)


class SplinesTest(_Test):
  """What is quick: programs are compiled for few shapes."""

  @parameterized.parameters((4, "mirror"), (5, "reflect"), (2, "grid-wrap"))
  def test_coefficients(self, order, mode):
    self.check_coefficients(9, order, mode)

  @parameterized.parameters((33, 150), (150, 33))
  def test_many_lines(self, *shape):
    """More than are filtered at a time."""
    x = self._rng.normal(size=shape).astype(np.float32)
    for axis in range(x.ndim):
      want = ndimage.spline_filter1d(x.astype(float), axis=axis)
      self._close(spline_filter1d(x, axis=axis), want, x, np.float32)

  @parameterized.product(order=(1, 3), mode=_MODES)
  def test_values(self, order, mode):
    self.check_values(9, order, mode, 0.7)

  @parameterized.product(
      order=(0, 3), mode=("nearest", "constant", "grid-constant")
  )
  def test_far_outside(self, order, mode):
    c = [[-np.inf, -1e30, -(2.0**33), 2.0**33, 1e30, np.inf]]
    x = np.arange(1.0, 5)
    got = map_coordinates(x, c, order, mode, 0.7)
    near = np.repeat([[-99.0, 99.0]], 3, axis=1)
    want = ndimage.map_coordinates(x, near, None, order, mode, 0.7)
    self._close(got, want, x)

  @parameterized.parameters(0, 1)
  def test_infinities_at_the_ends_of_a_constant_line(self, order):
    """An element behind an end has the weight 0, and is SciPy's."""
    inf, near = np.inf, np.array([-(2.0**-45), 2.0**-45])
    for line in (
        [1, 2, inf], [1, inf, 3], [inf, 2, 3], [1, 2, np.nan], [5], [inf],
    ):  # fmt: skip
      x = np.array(line, np.float64)
      steps = np.arange(-8, 4 * len(x) + 8) / 4
      far = [1e30, -1e30, inf, -inf, 2.0**31, 2.0**33]
      c = np.concatenate([steps, near, len(x) - 1 + near, far])
      found = map_coordinates(x, [c], order, "constant", 9)
      want = ndimage.map_coordinates(x, [c], None, order, "constant", 9)
      np.testing.assert_array_equal(found, want, str(line))

  def test_gradients(self):
    """Those with respect to the coordinates, too."""
    x = self._rng.normal(size=9)
    c = self._rng.uniform(0.1, 0.4, 100) + self._rng.integers(-9, 18, 100)
    function = jax.jit(lambda x, c: map_coordinates(x, [c], 3, "mirror"))
    jax.test_util.check_grads(function, (x, c), 1, ["rev"])

  def test_refusals(self):
    x, c = np.ones((3, 4)), np.ones((2, 5))
    for call in (
        lambda: spline_filter(x, 1),
        lambda: spline_filter(x, 6),
        lambda: spline_filter(x, mode="edge"),
        lambda: spline_filter1d(x, axis=2),
        lambda: spline_filter1d(np.ones(())),
        lambda: map_coordinates(x, c, 6),
        lambda: map_coordinates(x, c, mode="edge"),
        lambda: map_coordinates(x, c[:1]),
        lambda: map_coordinates(x, [c[0], c[0, :4]]),
        lambda: map_coordinates(np.ones((0, 3)), c),
        lambda: map_coordinates(np.ones(()), []),
        lambda: map_coordinates(x, c, cval=np.ones(3)),
        lambda: map_coordinates(x, c, mode=["mirror"]),
    ):
      with self.assertRaises(ValueError):
        call()
    for call in (
        lambda: spline_filter(x > 0),
        lambda: map_coordinates(x > 0, c),
        lambda: map_coordinates(x, c * 1j),
        lambda: map_coordinates(x, c > 0),
        lambda: map_coordinates(x, c, cval=1j),
        lambda: spline_filter1d(x, axis=None),
        lambda: spline_filter1d(x, 3, 0, "mirror"),
        lambda: spline_filter(x, output=np.zeros_like(x)),
        lambda: spline_filter(x, output=bool),
        lambda: map_coordinates(x, c, output="S1"),
    ):
      with self.assertRaises(TypeError):
        call()

  @parameterized.parameters(np.float32, np.float64, np.int32)
  def test_output(self, dtype):
    """It is stored after each axis, as in SciPy, which cuts off fractions."""
    x = (8 * self._rng.normal(size=(3, 4))).astype(np.float32)
    c = self._rng.uniform(-1, 4, (2, 50))
    for found, want in (
        (
            spline_filter1d(x, 1, 0, dtype),
            ndimage.spline_filter1d(x, 1, 0, dtype),
        ),
        (
            spline_filter1d(x, 4, 0, dtype),
            ndimage.spline_filter1d(x, 4, 0, dtype),
        ),
        (spline_filter(x, 3, dtype), ndimage.spline_filter(x, 3, dtype)),
        (
            map_coordinates(x, c, 1, output=dtype),
            ndimage.map_coordinates(x, c, dtype, 1),
        ),
    ):
      if dtype == np.int32:
        np.testing.assert_array_equal(found, want, strict=True)
      else:
        self._close(found, want, x, dtype)

  def test_output_of_other_kinds(self):
    """What is rounded is the output; complex numbers stay complex."""
    c = self._rng.uniform(-1, 4, (2, 50))
    want = ndimage.map_coordinates(_IMAGE, c, float, 2)
    self._close(map_coordinates(_IMAGE, c, 2, output=float), want, _IMAGE)
    for function in (spline_filter1d, spline_filter):
      found = function(_IMAGE * 1j, output=np.float32)
      self.assertEqual(found.dtype, np.complex64)
      want = 1j * function(_IMAGE.astype(np.float32))
      self._close(found, want, _IMAGE, np.complex64)


class MoreSplinesTest(_Test):
  """What takes longer."""

  @parameterized.product(order=(2, 3, 4, 5), mode=_MODES)
  def test_coefficients(self, order, mode):
    for n in (1, 2, 3, 9, 200):
      self.check_coefficients(n, order, mode)

  @parameterized.parameters(np.float32, np.float64, np.complex128, int)
  def test_axes_and_dtypes(self, dtype):
    x = (8 * self._rng.normal(size=(5, 70, 3))).astype(dtype)
    for axis in (0, 1, -1):
      want = ndimage.spline_filter1d(x, 4, axis, mode="reflect", output=(
          np.complex128 if dtype == np.complex128 else np.float64
      ))  # fmt: skip
      got = spline_filter1d(x, 4, axis, mode="reflect")
      self._close(got, want, x, float if dtype == int else dtype)
    got = spline_filter(x[:, :9], 5, mode="grid-wrap")
    want = ndimage.spline_filter(x[:, :9], 5, mode="grid-wrap", output=(
        np.complex128 if dtype == np.complex128 else np.float64
    ))  # fmt: skip
    self._close(got, want, x, float if dtype == int else dtype)

  def test_16_bits(self):
    """They are computed in float32, and rounded once."""
    for dtype in (jnp.bfloat16, np.float16):
      x = self._rng.normal(size=50).astype(dtype)
      got = spline_filter1d(x, 5)
      self.assertEqual(got.dtype, dtype)
      want = ndimage.spline_filter1d(x.astype(float), 5)
      eps = float(jnp.finfo(dtype).eps)
      bound = _bound(x.astype(float), np.float32)
      np.testing.assert_allclose(got.astype(float), want, eps, bound)

  @parameterized.parameters(2, 3, 4, 5)
  def test_coefficients_of_ones_are_ones(self, order):
    for shape in ((), (1,), (4,), (4, 4)):
      one = np.ones(shape)
      self._close(spline_filter(one, order), one, one)

  @parameterized.product(order=tuple(range(6)), mode=_MODES)
  def test_values(self, order, mode):
    """Of lines of few elements, and with and without filters."""
    for n in (1, 2, 9):
      for prefilter in (True, False) if order > 1 else (True,):
        self.check_values(n, order, mode, 0.7, prefilter)

  @parameterized.product(order=tuple(range(6)), mode=_MODES)
  def test_values_of_images(self, order, mode):
    x = self._rng.normal(size=(5, 4, 6) if order == 3 else (5, 6))
    c = self._rng.uniform(-3, 8, (x.ndim, 3, 7))
    for dtype in (np.float32, np.complex128):
      image = x.astype(dtype)
      # So that float32 holds them, and what they are mapped to.
      at = np.round(c * 64) / 64
      got = map_coordinates(image, at.astype(np.float32), order, mode, 0.5)
      want = ndimage.map_coordinates(
          image.astype(np.result_type(dtype, float)), at, None, order, mode, 0.5
      )
      self._close(got, want, x, dtype)

  @parameterized.parameters(
      ("nearest", [1.5, 2.5, 3.5, 4, 4, 4, 4]),
      ("wrap", [1.5, 2.5, 3.5, 1.5, 2.5, 3.5, 1.5]),
      ("grid-wrap", [1.5, 2.5, 3.5, 2.5, 1.5, 2.5, 3.5]),
      ("mirror", [1.5, 2.5, 3.5, 3.5, 2.5, 1.5, 1.5]),
      ("reflect", [1.5, 2.5, 3.5, 4, 3.5, 2.5, 1.5]),
      ("constant", [1.5, 2.5, 3.5, -1, -1, -1, -1]),
      ("grid-constant", [1.5, 2.5, 3.5, 1.5, -1, -1, -1]),
  )
  def test_outside(self, mode, want):
    x = np.arange(1.0, 5)
    got = map_coordinates(x, [np.arange(7) + 0.5], 1, mode, -1)
    np.testing.assert_array_equal(got, want)

  @parameterized.parameters(
      ("nearest", 1), ("wrap", 3), ("grid-wrap", 4), ("mirror", 2),
      ("reflect", 1), ("constant", -1), ("grid-constant", -1),
  )  # fmt: skip
  def test_integers_are_rounded(self, mode, first):
    got = map_coordinates(
        np.arange(1, 5), [np.arange(4) - 0.9], mode=mode, cval=-1
    )
    self.assertEqual(got.dtype, int)
    np.testing.assert_array_equal(got, [first, 1, 2, 3])

  @parameterized.product(order=tuple(range(6)), mode=tuple(_NUMPY))
  def test_as_of_a_padded_line(self, order, mode):
    x = np.arange(-6.0, 7)
    c = np.linspace(-8, 15, 99)
    padded = np.pad(x, 32, _NUMPY[mode])
    want = map_coordinates(padded, [c + 32], order, mode)
    got = map_coordinates(x, [c], order, mode)
    # SciPy pads 12 elements, and here are 24, of which a pole's power is left.
    left = 0.44 ** (12 if mode in ("nearest", "grid-constant") else 32 - 8)
    bound = 2 * _bound(padded, np.float64) + 6 * _GAIN * left
    np.testing.assert_allclose(got, want, rtol=0, atol=bound)

  @parameterized.parameters(*range(6))
  def test_moved_images(self, order):
    """Also of what is filtered already, and of parts of arrays."""
    c = np.indices(_IMAGE.shape) - 1
    want = np.zeros(_IMAGE.shape)
    want[1:, 1:] = _IMAGE[:-1, :-1]
    np.testing.assert_array_equal(map_coordinates(_IMAGE, c, order), want)
    x = spline_filter(_IMAGE, order) if order > 1 else _IMAGE.astype(float)
    got = map_coordinates(x, c, order, prefilter=False)
    self._close(got, want, _IMAGE)
    c = np.indices((3, 2)) - 1
    got = map_coordinates(_IMAGE[:, ::2], c, order)
    np.testing.assert_array_equal(got, [[0, 0], [0, 4], [0, 7]])
    ones = map_coordinates(np.ones(2), [np.arange(4) // 2], order)
    self._close(ones, np.ones(4), np.ones(2))

  def test_between_an_image_and_its_surroundings(self):
    x = np.arange(1.0, 7).reshape(2, 3)
    got = map_coordinates(x, np.indices((2, 3)) - 0.5, 1, "grid-constant")
    np.testing.assert_array_equal(got, [[0.25, 0.75, 1.25], [1.25, 3, 4]])

  def test_what_is_no_number_is_nowhere(self):
    x = np.arange(4.0)
    for mode in ("nearest", "mirror", "grid-constant"):
      for order in (0, 3):
        got = np.asarray(map_coordinates(x, [[np.nan, 1, 1e30]], order, mode))
        np.testing.assert_array_equal(np.isnan(got), [True, False, False])

  @parameterized.product(order=(2, 5), mode=("mirror", "reflect", "grid-wrap"))
  def test_gradients_of_coefficients(self, order, mode):
    x = self._rng.normal(size=(3, 7))
    function = jax.jit(lambda x: spline_filter1d(x, order, mode=mode))
    jax.test_util.check_grads(function, (x,), 2)

  @parameterized.parameters(
      (1, "mirror"), (3, "constant"), (4, "grid-constant"), (5, "wrap")
  )
  def test_gradients(self, order, mode):
    """Those with respect to the coordinates, too."""
    x = self._rng.normal(size=(4, 5))
    c = self._rng.uniform(0.1, 0.4, (2, 6)) + self._rng.integers(-2, 6, (2, 6))
    function = jax.jit(lambda x, c: map_coordinates(x, c, order, mode, 0.3))
    jax.test_util.check_grads(function, (x, c), 1 if order == 1 else 2)

  def test_vmap_and_jit(self):
    x = self._rng.normal(size=(3, 4, 5))
    c = self._rng.uniform(0, 3, (2, 6))
    one = jax.jit(lambda x: map_coordinates(x, c))
    got = jax.vmap(one)(x)
    for i in range(3):
      self._close(got[i], ndimage.map_coordinates(x[i], c), x[i])


if __name__ == "__main__":
  absltest.main()
