# SPDX-License-Identifier: Apache-2.0
"""dtypes, ranks and parts; and what a primitive lacks, rule by rule."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jax.interpreters import xla
import jax.numpy as jnp
from mixed_affine import backward_p
from mixed_affine import forward
from mixed_affine import rms_norm
import numpy as np

_EPS = 1e-3
_F32, _BF16 = jnp.dtype("float32"), jnp.dtype("bfloat16")
# Of shape, dtype.
_S = jax.ShapeDtypeStruct
_X, _Y, _W = _S((2, 3, 4), _BF16), _S((2, 3, 4), _F32), _S((3, 4), _F32)
_RSTD, _PARTIAL = _S((2,), _F32), _S((2, 3, 4), _F32)


def _random(seed, shape, dtype=_F32):
  x = np.random.default_rng(seed).normal(size=shape)
  return jnp.asarray(x, dtype)


def _expected(x, weight):
  """The definition, in float64."""
  x, weight = (np.asarray(v, np.float64) for v in (x, weight))
  axes = tuple(range(x.ndim - weight.ndim, x.ndim))
  rstd = 1 / np.sqrt(np.mean(x * x, axes, keepdims=True) + _EPS)
  return x * rstd * weight, rstd.reshape(x.shape[: axes[0]])


def _expected_backward(dy, x, weight):
  dy, x, weight = (np.asarray(v, np.float64) for v in (dy, x, weight))
  axes = tuple(range(x.ndim - weight.ndim, x.ndim))
  rstd = 1 / np.sqrt(np.mean(x * x, axes, keepdims=True) + _EPS)
  mean = np.mean(dy * weight * x, axes, keepdims=True)
  dweight = (dy * x * rstd).sum(tuple(range(axes[0])))
  return rstd * (dy * weight - x * mean * rstd**2), dweight


def _assert_close(found, expected, dtype):
  assert found.dtype == dtype and found.shape == expected.shape
  tolerance = 1e-2 if dtype == _BF16 else 1e-5
  scale = np.abs(expected).max(initial=1)
  np.testing.assert_allclose(
      np.asarray(found, np.float64), expected, tolerance, tolerance * scale
  )


class MixedAffineTest(parameterized.TestCase):

  @parameterized.product(
      x_dtype=(_F32, _BF16),
      dtype=(_F32, _BF16),
      shapes=(
          ((5,), (5,)),
          ((7, 5), (5,)),
          ((2, 3, 4), (3, 4)),
          ((100, 2, 1, 3), (2, 1, 3)),  # more rows than parts
          ((2, 3, 300), (300,)),
          ((0, 4), (4,)),
      ),
  )
  def test_values(self, x_dtype, dtype, shapes):
    x = _random(0, shapes[0], x_dtype)
    weight = _random(1, shapes[1], dtype)
    dy = _random(2, shapes[0], dtype)
    expected = _expected(x, weight)
    for function in (forward, jax.jit(forward, static_argnums=2)):
      y, rstd = function(x, weight, _EPS)
      _assert_close(y, expected[0], dtype)
      _assert_close(rstd, expected[1], _F32)
    y, backward = jax.vjp(lambda x, w: rms_norm(x, w, _EPS), x, weight)
    dx, dweight = backward(dy)
    expected_dx, expected_dweight = _expected_backward(dy, x, weight)
    _assert_close(dx, expected_dx, x_dtype)
    _assert_close(dweight, expected_dweight, dtype)

  def test_sums_are_float32(self):
    """In bfloat16, 256 + 1 is 256."""
    x = jnp.ones((1000, 1000), _BF16)
    weight = jnp.ones(1000, _F32)
    _, rstd = forward(x, weight, 0)
    np.testing.assert_array_equal(rstd, 1)
    dy = jnp.ones((1000, 1000), _F32)
    _, dweight, _ = backward_p.bind(dy, x, weight, rstd)
    np.testing.assert_array_equal(dweight, 1000)

  @parameterized.parameters((1, 1), (5, 5), (64, 64), (1000, 64), (0, 1))
  def test_partial_sums(self, rows, parts):
    """Part p has the rows p, p + parts ...; their sum is the gradient."""
    x, dy = jnp.ones((rows, 3)), jnp.arange(rows * 3.0).reshape(rows, 3)
    rstd, weight = jnp.ones(rows), jnp.ones(3)
    _, dweight, partial = backward_p.bind(dy, x, weight, rstd)
    self.assertEqual(partial.shape, (parts, 3))
    expected = [np.asarray(dy)[p::parts].sum(0) for p in range(parts)]
    np.testing.assert_array_equal(partial, expected)
    np.testing.assert_array_equal(dweight, np.sum(expected, 0))

  def test_the_third_result_is_the_programs_memory(self):
    x, weight = _random(0, (1000, 50)), _random(1, (50,), _BF16)
    gradient = jax.jit(
        jax.grad(lambda w: rms_norm(x, w, _EPS).astype(_F32).sum())
    )
    lowered = gradient.lower(weight)
    self.assertRegex(
        lowered.as_text(), r"@example_mixed_affine_bwd\(.*tensor<64x50xf32>"
    )
    memory = lowered.compile().memory_analysis()
    self.assertEqual(memory.output_size_in_bytes, weight.nbytes)
    self.assertGreaterEqual(memory.temp_size_in_bytes, 64 * 50 * 4)

  @parameterized.parameters(
      ((), (3,)), ((4,), (3,)), ((3, 4), (3,)), ((3,), ())
  )
  def test_avals_are_checked(self, x, weight):
    with self.assertRaisesRegex(TypeError, "weight must have the last"):
      forward(jnp.ones(x), jnp.ones(weight))

  def test_what_a_primitive_lacks(self):
    """Each rule that is missing is an error of its own, in this order."""
    x, weight = _random(0, (2, 3)), _random(1, (3,))
    bare = Primitive("bare")
    bare.multiple_results = True
    eager = functools.partial(bare.bind, x, weight, eps=np.float32(_EPS))

    def fails(function, message):
      with self.assertRaisesRegex(NotImplementedError, message):
        function()

    fails(eager, "Evaluation rule for 'bare' not implemented")
    fails(jax.jit(eager), "Abstract evaluation for 'bare' not implemented")
    # `impl` makes a program of the one call: it needs all that jit needs.
    bare.def_impl(functools.partial(xla.apply_primitive, bare))
    fails(eager, "Abstract evaluation for 'bare' not implemented")
    types = jax.make_jaxpr(forward)(x, weight).out_avals
    bare.def_abstract_eval(lambda *_, **__: types)
    fails(eager, "translation rule for primitive 'bare' not found.* cpu")
    mlir.register_lowering(
        bare,
        jax.ffi.ffi_lowering("example_mixed_affine_fwd"),
        platform="cpu",
    )
    for found, expected in zip(eager(), forward(x, weight, _EPS)):
      np.testing.assert_array_equal(found, expected)

    def first(x):
      return bare.bind(x, weight, eps=np.float32(_EPS))[0]

    fails(lambda: jax.jvp(first, (x,), (x,)), "Differentiation rule for 'bare'")
    fails(lambda: jax.vmap(first)(x[None]), "Batching rule for 'bare'")

  def test_what_these_primitives_lack(self):
    """custom_vjp gives the function a derivative, not the primitive."""
    x, weight = _random(0, (2, 3)), _random(1, (3,))
    jax.grad(lambda x: rms_norm(x, weight).sum())(x)
    with self.assertRaisesRegex(NotImplementedError, "Differentiation rule"):
      jax.grad(lambda x: forward(x, weight)[0].sum())(x)
    with self.assertRaisesRegex(NotImplementedError, "Batching rule"):
      jax.vmap(forward, (0, None))(x[None], weight)

  def test_lowering_for_cuda(self):
    x, weight = _random(0, (2, 3)), _random(1, (3,))
    traced = jax.jit(forward).trace(x, weight)
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    self.assertIn("@example_mixed_affine_fwd(", text)

  @parameterized.parameters(
      ("x", _S((2, 3, 4), jnp.float16), "x must be .*, got float16"),
      ("x", _S((2, 3, 5), _BF16), r"x must be .* \[2, 3, 4\], got .*5\]"),
      ("x", _S((4,), _BF16), "weight must have at least 1 .*, got 2 and 1"),
      ("weight", _S((), _F32), "weight must have at least 1 .*, got 0 and 3"),
      ("weight", _S((3, 4), jnp.float16), "weight must be .*, got float16"),
      ("y", _S((2, 3, 4), _BF16), "y must be float32 .*, got bfloat16"),
      ("y", _S((2, 3, 3), _F32), r"y must be .*, got float32 \[2, 3, 3\]"),
      ("rstd", _S((3,), _F32), r"rstd must be .* \[2\], got float32 \[3\]"),
      ("rstd", _S((2,), _BF16), "rstd must be float32 .*, got bfloat16"),
  )
  def test_forward_checks(self, name, other, message):
    types = dict(x=_X, weight=_W, y=_Y, rstd=_RSTD) | {name: other}
    self._refused("example_mixed_affine_fwd", types, 2, message, eps=_EPS)

  def test_eps_is_checked(self):
    types = dict(x=_X, weight=_W, y=_Y, rstd=_RSTD)
    self._refused(
        "example_mixed_affine_fwd", types, 2, "eps must be at least 0", eps=-1
    )

  @parameterized.parameters(
      ("dy", _S((2, 3, 4), _BF16), "dy must be float32 .*, got bfloat16"),
      ("dy", _S((1, 3, 4), _F32), r"dy must be .*, got float32 \[1, 3, 4\]"),
      ("x", _S((2, 3, 5), _BF16), r"x must be .* \[2, 3, 4\], got .*5\]"),
      ("weight", _S((3, 4), jnp.int32), "weight must be .*, got int32"),
      ("weight", _S((), _F32), "weight must have at least 1 .*, got 0 and 3"),
      ("rstd", _S((1,), _F32), r"rstd must be .* \[2\], got float32 \[1\]"),
      ("dx", _S((2, 3, 4), _F32), "dx must be bfloat16 .*, got float32"),
      ("dx", _S((3, 4), _BF16), r"dx must be .*, got bfloat16 \[3, 4\]"),
      ("dweight", _S((3,), _F32), r"dweight must be .*, got float32 \[3\]"),
      ("dweight", _S((3, 4), _BF16), "dweight must be float32 .*, got bfl"),
      ("partial", _S((), _F32), "parts must be at least 1, got 0"),
      ("partial", _S((0, 3, 4), _F32), "parts must be at least 1, got 0"),
      ("partial", _S((2, 12), _F32), r"partial must be .* got .*\[2, 12\]"),
      ("partial", _S((2, 3, 4), _BF16), "partial must be float32 .*, got bf"),
  )
  def test_backward_checks(self, name, other, message):
    types = dict(dy=_Y, x=_X, weight=_W, rstd=_RSTD)
    types |= dict(dx=_X, dweight=_W, partial=_PARTIAL)
    types |= {name: other}
    self._refused("example_mixed_affine_bwd", types, 4, message)

  def _refused(self, target, types, operands, message, **attributes):
    """Calls the target as anyone may: the primitives' own rules are not run."""
    types = list(types.values())
    arrays = [jnp.zeros(t.shape, t.dtype) for t in types[:operands]]
    call = jax.ffi.ffi_call(target, types[operands:])
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, message):
      attributes = {k: np.float32(v) for k, v in attributes.items()}
      jax.block_until_ready(call(*arrays, **attributes))


if __name__ == "__main__":
  absltest.main()
