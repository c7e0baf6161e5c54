# SPDX-License-Identifier: Apache-2.0
"""Programs with an op: how they are compiled, for what, and from threads."""

from concurrent import futures

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
from jax.sharding import AxisType
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec
import numpy as np

from jax_ffi_ops import add_rms_norm
from jax_ffi_ops import kit
from jax_ffi_ops import rms_norm
from jax_ffi_ops.kit.op import find
from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.exactness import checks

_TARGETS = find("xla_ffi_ops_rms_norm").targets
_PLATFORMS = find("xla_ffi_ops_rms_norm").declaration.forward_platforms


def _loss(x, scale):
  return jnp.sum(jnp.sin(rms_norm(x, scale)))


def _add_all_pairs(x, y):
  inner = jax.vmap(add_rms_norm, (0, None))
  return jax.vmap(inner, (None, 0))(x, y)


def _normal(*shape, seed=0):
  return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def _lowered(function, platforms, *args):
  traced = jax.jit(function).trace(*args)
  return traced.lower(lowering_platforms=platforms).as_text()


class KitProgramTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    jax.clear_caches()  # With pytest, others traced the same calls without it.
    self.enter_context(kit.using("handler if served"))
    self.x = _normal(8, 6, 16)
    self.scale = _normal(16, seed=1)
    self.args = (self.x, self.scale)

  def check(self, y):
    """Fails unless y is rms_norm(*self.args)."""
    x, scale = (a.astype(np.float64) for a in self.args)
    expected = x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-6) * scale
    allowed = checks.tolerance(expected, y.dtype, terms=x.shape[-1])
    self.assertIsNone(checks.difference(y, expected, y.dtype, allowed))

  def test_ahead_of_time(self):
    avals = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in self.args]
    compiled = jax.jit(rms_norm).lower(*avals).compile()
    self.check(compiled(*self.args))

  def test_one_custom_call_is_the_whole_program(self):
    text = jax.jit(rms_norm).lower(*self.args).compile().as_text()
    entry = text[text.index("ENTRY") :]
    self.assertLen([line for line in entry.splitlines() if " = " in line], 4)
    self.assertEqual(entry.count("custom-call("), 1)

  def test_donation(self):
    donated = jnp.array(self.x)
    y = jax.jit(rms_norm, donate_argnums=0)(donated, self.scale)
    self.check(y)
    self.assertTrue(donated.is_deleted())

  def test_donation_of_what_the_gradient_needs(self):
    expected = jax.jit(jax.grad(_loss))(*self.args)
    donated = jnp.array(self.x)
    actual = jax.jit(jax.grad(_loss), donate_argnums=0)(donated, self.scale)
    np.testing.assert_array_equal(actual, expected)

  def test_compiler_options(self):
    options = {"xla_cpu_experimental_ynn_fusion_type": ""}
    program = jax.jit(rms_norm, compiler_options=options)
    self.check(program(*self.args))

  @parameterized.parameters(True, False)
  def test_debug_nans(self, jit):
    function = jax.jit(rms_norm) if jit else rms_norm
    with jax.debug_nans(True):
      self.check(function(*self.args))
      np.testing.assert_array_equal(
          jax.jit(jax.grad(_loss))(*self.args), jax.grad(_loss)(*self.args)
      )
      with self.assertRaises(FloatingPointError):
        function(self.x * np.float32(np.nan), self.scale)

  def test_enable_x64_inside_and_out(self):
    for x64 in (True, False):
      with jax.enable_x64(x64):
        y = jax.jit(rms_norm)(*self.args)
      self.assertEqual(y.dtype, np.float32)
      self.check(y)
    with jax.enable_x64(True):
      y = jax.jit(rms_norm)(self.x.astype(np.float64), self.scale)
    self.assertEqual(y.dtype, np.float64)
    self.check(y)

  @parameterized.parameters(
      rms_norm,
      jax.jit(rms_norm),
      jax.vmap(rms_norm, (0, None)),
      jax.grad(_loss, (0, 1)),
      jax.jit(jax.grad(_loss, (0, 1))),
      jax.jit(jax.vmap(jax.grad(_loss, (0, 1)), (0, None))),
      jax.grad(jax.checkpoint(_loss), (0, 1)),
      lambda *args: jax.jvp(rms_norm, args, args),
      lambda *args: jax.jvp(jax.jit(jax.grad(_loss, (0, 1))), args, args),
      lambda *args: jax.linearize(rms_norm, *args)[1](*args),
      lambda *args: jax.vmap(jax.linearize(rms_norm, *args)[1])(
          *(jax.lax.broadcast(x, (2,)) for x in args)
      ),
      jax.grad(lambda x, _: _add_all_pairs(x, x)[0].sum()),
  )
  def test_arrays_of_64_bits_outside_of_x64(self, function):
    """As jnp.sin, an op computes in float64 what is float64."""
    for dtypes in (("float64", "float64"), ("float64", "float32")):
      with jax.enable_x64(True):
        args = [jnp.asarray(x, t) for x, t in zip(self.args, dtypes)]
        expected = jax.tree.leaves(function(*args))
      for got, want in zip(jax.tree.leaves(function(*args)), expected):
        self.assertEqual(got.dtype, want.dtype)
        np.testing.assert_allclose(
            got, want, rtol=1e-12 if want.dtype == np.float64 else 1e-5
        )
      y = rms_norm(*args)
      self.assertEqual(y.dtype, jnp.sin(args[0]).dtype)
      self.assertIn(_TARGETS[0], _lowered(rms_norm, ("cpu",), *args))

  @parameterized.parameters(AxisType.Auto, AxisType.Explicit)
  def test_arrays_of_64_bits_on_several_devices(self, kind):
    with jax.enable_x64(True):
      x, scale = (jnp.asarray(a, "float64") for a in self.args)
      expected = jax.jit(rms_norm)(x, scale)
    mesh = devices.mesh(kind, a=4)
    x = jax.device_put(x, NamedSharding(mesh, PartitionSpec("a")))
    np.testing.assert_array_equal(jax.jit(rms_norm)(x, scale), expected)

  @parameterized.parameters("tpu", "cuda", "rocm")
  def test_platform_without_a_handler(self, platform):
    if platform in _PLATFORMS:
      return  # A build with --config=cuda has one.
    for function in (rms_norm, jax.grad(_loss, (0, 1))):
      there = _lowered(function, (platform,), *self.args)
      here = _lowered(function, ("cpu",), *self.args)
      for target in _TARGETS:
        self.assertNotIn(target, there)
      self.assertIn(_TARGETS[0], here)
      self.assertNotIn("custom_call", there)

  def test_program_for_several_platforms_runs(self):
    traced = jax.jit(jax.grad(_loss, (0, 1))).trace(*self.args)
    lowered = traced.lower(lowering_platforms=("cpu", "tpu"))
    for target in _TARGETS:
      self.assertEqual(lowered.as_text().count(f"@{target}("), 1)
    self.assertIn("stablehlo.case", lowered.as_text())

  def test_the_reference_has_the_values(self):
    def other_platform(*args):  # What a program for a TPU does.
      (equation,) = jax.make_jaxpr(rms_norm)(*args).eqns
      return equation.params["call"].reference(args)["y"]

    self.check(jax.jit(other_platform)(*self.args))

  def test_threads(self):
    threads = 4
    rows = [8 * (i + 1) for i in range(threads)]
    gradient = jax.grad(_loss, (0, 1))
    xs = [_normal(n, 16, seed=n) for n in rows]
    expected = [jax.jit(gradient)(x, self.scale) for x in xs]
    shared = jax.jit(gradient)

    def work(index):
      results = []
      for turn in range(2):  # Each thread begins with another shape.
        i = (index + turn) % threads
        own = jax.jit(lambda *args: gradient(*args))
        results.append((i, own(xs[i], self.scale)))
        results.append((i, shared(xs[i], self.scale)))
        results.append((i, gradient(xs[i], self.scale)))
      return results

    pool = futures.ThreadPoolExecutor(threads)
    for future in [pool.submit(work, index) for index in range(threads)]:
      for i, actual in future.result(timeout=60):
        for got, want in zip(actual, expected[i], strict=True):
          np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


if __name__ == "__main__":
  absltest.main()
