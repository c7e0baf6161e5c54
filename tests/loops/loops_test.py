# SPDX-License-Identifier: Apache-2.0
"""A loop whose handlers the build wrote, against NumPy in float64."""

import faulthandler
import functools
import itertools
import math
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import cubes
import halves
import jax
import jax.numpy as jnp
import lorenz
import names
import numpy as np
import relaxation
import samples
import shares
import shifted
import visits
import waiting

from jax_ffi_ops import kit
from jax_ffi_ops.kit.load.cores import Core
from jax_ffi_ops.kit.load.cores import Cores

_EPS = np.finfo(np.float32).eps


def _definition(y, parameters, dts):
  """As the reference has it, in float64 and over any leading dimensions."""
  sigma, rho, beta = np.moveaxis(np.float64(parameters), -1, 0)

  def f(y):
    a, b, c = np.moveaxis(y, -1, 0)
    return np.stack([sigma * (b - a), a * (rho - c) - b, a * b - beta * c], -1)

  y = np.float64(y)
  for dt in np.moveaxis(np.float64(dts), -1, 0)[..., None]:
    k1 = f(y)
    k2 = f(y + dt / 2 * k1)
    k3 = f(y + dt / 2 * k2)
    k4 = f(y + dt * k3)
    y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
  return y


def _operands(rows, steps, seed=0):
  rng = np.random.default_rng(seed)
  y = rng.normal(size=(rows, 3)).astype(np.float32)
  parameters = np.float32([10, 28, 8 / 3] + 0.1 * rng.normal(size=(rows, 3)))
  return y, parameters, np.full((rows, steps), 1e-3, np.float32)


class LorenzTest(parameterized.TestCase):

  @parameterized.product(rows=(0, 1, 2, 7, 8, 9, 33), steps=(0, 1, 2, 30))
  def test_values(self, rows, steps):
    operands = _operands(rows, steps)
    got = lorenz.lorenz(*operands)
    expected = _definition(*operands)
    # A step has four slopes with some ten roundings each, on the way to it.
    np.testing.assert_allclose(
        got, expected, rtol=0, atol=40 * (steps + 1) * _EPS * 3
    )

  def test_gradients(self):
    operands = _operands(9, 20)
    weights = jnp.asarray(_operands(9, 0, seed=1)[0])
    loss = lambda op, *xs: jnp.sum(weights * op(*xs))
    grad = jax.jit(jax.grad(loss, (1, 2, 3)), static_argnums=0)
    got = grad(lorenz.lorenz, *operands)
    with jax.enable_x64(True):
      wide = [np.float64(x) for x in operands]
      expected = grad(jax.vmap(lorenz.reference), *wide)
    for x, want in zip(got, expected, strict=True):
      scale = np.max(np.abs(want))
      # The backward pass has twice the steps, each with its forward pass.
      np.testing.assert_allclose(x, want, rtol=0, atol=80 * 20 * _EPS * scale)

  def test_rows_do_not_depend_on_each_other(self):
    @jax.jit
    def both_passes(*operands):
      y, pull_back = jax.vjp(lorenz.lorenz, *operands)
      return y, *pull_back(y)

    operands = _operands(33, 30)
    together = list(map(np.asarray, both_passes(*operands)))
    # In other vectors than 33 rows have, alone, and elsewhere in a vector.
    for begin, end in ((0, 1), (7, 8), (32, 33), (0, 2), (3, 11), (1, 33)):
      with kit.using("handler if served"):
        got = both_passes(*(x[begin:end] for x in operands))
      for x, want in zip(got, together, strict=True):
        self.assertEqual(np.asarray(x).tobytes(), want[begin:end].tobytes())

  def test_infinite_and_nan_rows_stay_alone(self):
    y, parameters, dts = _operands(9, 30)
    expected = np.asarray(lorenz.lorenz(y, parameters, dts))
    y[3], y[5] = np.nan, np.inf
    got = np.asarray(lorenz.lorenz(y, parameters, dts))
    self.assertTrue(np.isnan(got[[3, 5]]).all())
    others = [0, 1, 2, 4, 6, 7, 8]
    self.assertEqual(got[others].tobytes(), expected[others].tobytes())

  def test_other_dtypes_run_the_reference(self):
    with self.assertRaisesRegex(TypeError, "float16"):
      lorenz.lorenz(*(np.float16(x) for x in _operands(2, 3)))

  def test_explained(self):
    text = kit.explain(lorenz.lorenz, *_operands(2, 3))
    self.assertIn("forward: handler loops_lorenz_fwd", text)
    self.assertIn("backward: handler loops_lorenz_bwd", text)

  def test_few_rows_run_the_reference(self):
    core = Core([], {}, (8, math.inf))
    with mock.patch.object(Cores, "find", lambda *_: core):
      few = kit.explain(lorenz.lorenz, *_operands(7, 3))
      many = kit.explain(lorenz.lorenz, *_operands(8, 3))
      with kit.using("handler if served"):
        any_speed = kit.explain(lorenz.lorenz, *_operands(7, 3))
    self.assertIn("forward: reference (it is faster below 8 rows)", few)
    self.assertIn("backward: reference (it is faster)", few)
    self.assertIn("forward: handler", many)
    self.assertIn("backward: reference", many)
    self.assertIn("forward: handler", any_speed)
    self.assertIn("backward: handler", any_speed)

  def test_gradients_without_handler_are_jaxs(self):
    """jax adds up the gradient of what rows share; no row has its own."""
    y, parameters, dts = _operands(7, 3)
    loss = lambda own: jnp.sum(lorenz.lorenz(y, own, dts) ** 2)
    with jax.enable_x64(True):
      reference = jax.vmap(lorenz.reference, (0, None, 0))
      wide = np.float64(y), np.float64(dts)
      function = lambda own: jnp.sum(reference(wide[0], own, wide[1]) ** 2)
      expected = jax.jit(jax.grad(function))(np.float64(parameters[0]))
    scale = np.max(np.abs(expected))
    for core in (None, Core([], {}, (1, math.inf))):
      with mock.patch.object(Cores, "find", lambda *_, core=core: core):
        text = str(jax.make_jaxpr(jax.grad(loss))(parameters[0]))
        got = jax.jit(jax.grad(loss))(parameters[0])
      self.assertNotIn("lorenz_bwd", text)
      np.testing.assert_allclose(
          got, expected, rtol=0, atol=80 * 3 * _EPS * scale
      )
    text = str(jax.make_jaxpr(jax.grad(loss))(parameters[0]))
    self.assertIn("lorenz_bwd", text)


class RowsTest(absltest.TestCase):

  def test_rows_that_have_left_do_not_wait(self):
    # If one did, the call would never return, and neither would this test.
    faulthandler.dump_traceback_later(60, exit=True)
    self.addCleanup(faulthandler.cancel_dump_traceback_later)
    n = np.arange(-1, 40, dtype=np.int32) % 5
    np.testing.assert_array_equal(waiting.waiting(n), n)

  def test_operand_that_some_rows_share(self):
    """All lanes have one only if it is that of all rows."""
    rng = np.random.default_rng(0)
    sizes = (3, 2, 4)
    x = rng.normal(size=(*sizes, 2)).astype(np.float32)
    for loops in itertools.product(*((1, size) for size in sizes)):
      weight = rng.normal(size=(*loops, 2)).astype(np.float32)
      function = shares.shares
      for size in reversed(loops):
        function = jax.vmap(function, (0, None if size == 1 else 0))
      own = weight.reshape(*(size for size in loops if size != 1), 2)
      np.testing.assert_array_equal(function(x, own), x * weight)

  def test_moved_along_itself(self):
    x = np.arange(1, 5, dtype=np.int32).reshape(4, 1, 1)
    for rows in (x, np.stack([x] * 21)):
      got = shifted.shifted(rows)
      np.testing.assert_array_equal(
          got, np.broadcast_to([1, 1, 2, 3], got.shape)
      )

  def test_xla_moves_another_way(self):
    """Fails when XLA is mended: shifted.py then needs to say since when."""
    x = np.arange(1, 5, dtype=np.int32).reshape(4, 1, 1)
    found = jax.jit(shifted.reference)(x)
    np.testing.assert_array_equal(found, [1, 1, 1, 1], jax.__version__)


class ChangesTest(parameterized.TestCase):
  """Large arrays change in a few places, in all rows or some."""

  def _operands(self, rows, steps=12):
    rng = np.random.default_rng(rows)
    table, weights = rng.normal(size=(2, rows, 100)).astype(np.float32)
    places = rng.integers(2, 99, (rows, steps)).astype(np.int32)
    places[:, 1::3] = places[:, ::3]  # Often the same one again.
    return table, weights, places

  @parameterized.parameters(1, 3, 21)
  def test_values(self, rows):
    operands = self._operands(rows)
    tables, weights, places = map(np.copy, operands)
    tables, totals = np.float64(tables), np.zeros(places.shape)
    for row, (table, own, at) in enumerate(zip(tables, weights, places)):
      total = 0.0
      for t, i in enumerate(at):
        total = np.sin(total + own[i] + own[i + 1])
        if total > 0:
          table[i] *= table[i - 1] + total
        table[0] += table[i]
        table[1] += table[i]
        totals[row, t] = total
    got = visits.visits(*operands)
    for x, want in zip(got, (tables, totals), strict=True):
      # Some ten roundings a step, of numbers of up to that size.
      scale = max(1, np.max(np.abs(want)))
      np.testing.assert_allclose(x, want, rtol=0, atol=120 * _EPS * scale)
    # The operands are as they were.
    for x, want in zip(operands, self._operands(rows)):
      np.testing.assert_array_equal(x, want)

  @parameterized.parameters(1, 3, 21)
  def test_gradients(self, rows):
    operands = self._operands(rows)

    def loss(function, table, own):
      return sum(jnp.sum(x**2) for x in function(table, own, operands[2]))

    grad = jax.jit(jax.grad(loss, (1, 2)), static_argnums=0)
    got = grad(visits.visits, *operands[:2])
    with jax.enable_x64(True):
      wide = map(np.float64, operands[:2])
      expected = grad(jax.vmap(visits.reference), *wide)
    for x, want in zip(got, expected, strict=True):
      scale = np.max(np.abs(want))
      np.testing.assert_allclose(x, want, rtol=0, atol=240 * _EPS * scale)


class SamplesTest(parameterized.TestCase):

  @parameterized.product(rows=(1, 3, 21), special=(False, True))
  def test_values(self, rows, special):
    """Of integers, whose sums are exact, and with NaN."""
    rng = np.random.default_rng(rows)
    a, b = (
        rng.integers(-9, 10, (rows, *core)).astype(np.float32)
        for core in ((3, 5), (5,))
    )
    i = rng.integers(-2, 8, rows, np.int32)
    if special:
      a[rng.random(a.shape) < 0.1] = b[rng.random(b.shape) < 0.1] = np.nan
    got = samples.samples(a, b, i)
    expected = jax.jit(jax.vmap(samples.reference))(a, b, i)
    for x, want in zip(got, expected, strict=True):
      self.assertEqual(x.dtype, want.dtype)
      np.testing.assert_array_equal(x, want)


class RoundingTest(parameterized.TestCase):

  @parameterized.parameters(1, 3, 65)
  def test_compiler_fuses_nothing(self, rows):
    x = np.random.default_rng(0).normal(size=rows).astype(np.float32)
    # If the last product were not rounded, its rounding errors would be left.
    np.testing.assert_array_equal(cubes.cubes(x, x * x * x), np.zeros(rows))

  @parameterized.parameters(1, 21)
  def test_float64_is_rounded_once_to_float16(self, rows):
    """By way of float32, some would be halfway between two numbers."""
    rng = np.random.default_rng(0)
    # Halfway, and a little beyond; from subnormal numbers to infinity.
    size = 2.0 ** rng.integers(-27, 17, (400, rows))
    half = 1 + (2 * rng.integers(0, 1024, size.shape) + 1) * 2.0**-11
    x = size * (half + rng.choice([-(2.0**-40), 0, 2.0**-40], size.shape))
    x *= rng.choice([-1, 1], size.shape)
    x[0], x[1], x[2] = np.nan, np.inf, 1e300
    with jax.enable_x64(True), np.errstate(over="ignore"):
      for row in x:
        float16, bfloat16 = halves.halves(row)
        np.testing.assert_array_equal(float16, row.astype(np.float16))
        # As XLA has it.
        want = row.astype(np.float32).astype(jnp.bfloat16)
        np.testing.assert_array_equal(bfloat16, want.astype(np.float32))


class HandlerTest(parameterized.TestCase):
  """Handlers check what Python checks before it calls them."""

  def test_names_of_cpp(self):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4,)), rng.normal(size=(9, 4, 3))
    operands = np.float32(x), np.float32(y)
    attributes = {"double": 0.1, "sizes": "a \\ b's $(c)"}
    self.assertIn(
        "forward: handler block_fwd",
        kit.explain(names.block, *operands, **attributes),
    )
    np.testing.assert_allclose(
        names.block(*operands, **attributes), 0.1 * x @ y, rtol=0, atol=1e-6
    )

  def test_values_of_attributes(self):
    call = jax.ffi.ffi_call("block_fwd", jax.ShapeDtypeStruct((3,), "float32"))
    call = functools.partial(call, np.ones(2, "f"), np.ones((2, 3), "f"))
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError,
        "block_fwd: the core must be one that a kernel was compiled for, got"
        ' int = 2, new = 3, double = 0.5, sizes = "a"',
    ):
      call(double=np.float32(0.5), sizes="a")

  def test_size_that_is_an_attribute(self):
    """A result of 2 elements, where the kernel writes 3."""
    x = np.ones(2, "f")
    attributes = {"steps": np.int64(3), "weight": np.float32(0.25)}
    results = jax.eval_shape(
        lambda: relaxation.relaxation(x, **attributes)[:1] * 2
    )
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "be one that a kernel was compiled for"
    ):
      jax.ffi.ffi_call("loops_relaxation_fwd", results)(x, **attributes)

  @parameterized.parameters(
      ({0: (2, 4)}, {}, r"y must have size 3 in dimension 1, got .*2, 4"),
      ({0: ()}, {}, r"y must have rank 1 or more, got"),
      ({1: (3, 3)}, {}, r"parameters must .*got .*3, 3"),
      ({3: (2, 4)}, {}, r"result must have shape .2, 3., got .2, 4"),
      ({3: (4, 3)}, {}, r"result must have shape .2, 3., got .4, 3"),
      ({3: (3,)}, {}, r"result must have shape .2, 3., got .3"),
      ({2: (2, 0)}, {}, r"dts must have size 1 or more in dimension 1, got"),
      ({}, {1: "int32"}, r"parameters must .*float32, got .*int32"),
      ({}, {3: "int32"}, r"result must have dtype float32, got int32"),
  )
  def test_arrays(self, shapes, dtypes, message):
    shapes = {0: (2, 3), 1: (2, 3), 2: (2, 5), 3: (2, 3)} | shapes
    *operands, result = (
        jax.ShapeDtypeStruct(shapes[i], dtypes.get(i, "float32"))
        for i in range(4)
    )
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, message):
      jax.ffi.ffi_call("loops_lorenz_fwd", result)(
          *(np.ones(x.shape, x.dtype) for x in operands)
      )

  @parameterized.parameters(2, 4)
  def test_number_of_operands(self, n):
    call = jax.ffi.ffi_call(
        "loops_lorenz_fwd", jax.ShapeDtypeStruct((3,), "float32")
    )
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "must be"):
      call(*[np.ones(3, "f")] * n)


if __name__ == "__main__":
  absltest.main()
