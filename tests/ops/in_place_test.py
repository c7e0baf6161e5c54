# SPDX-License-Identifier: Apache-2.0
"""Ops that write results over their operands, which they do on a CPU."""

import functools
import os

os.environ["JAX_PLATFORMS"] = "cpu"

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import lax
import jax.numpy as jnp
import numpy as np

import jax_ffi_ops
from jax_ffi_ops import kit

_ROWS = ("add_rms_norm", "layer_norm", "rms_norm", "softmax")
_SCANS = ("cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum")
# Rows in one piece and in several, and one that all threads share.
_SHAPES = (0, 16), (3, 1), (5, 4097), (3, 65537), (1, 2**20 + 3)
_DTYPES = ("bfloat16", "float16", "float32", "float64")


def _operands(name, shape, dtype):
  draw = np.random.default_rng(0).standard_normal
  rows = [
      draw(shape).astype(dtype) for _ in range(1 + (name == "add_rms_norm"))
  ]
  weights = {"layer_norm": 2, "add_rms_norm": 1, "rms_norm": 1}.get(name, 0)
  return rows, [draw(shape[-1:]).astype(dtype) for _ in range(weights)]


def _donating(op):
  """Returns the jitted op that takes rows for good, and reuses their memory."""
  return jax.jit(
      lambda rows, weights: jax.tree.leaves(op(*rows, *weights, in_place=True)),
      donate_argnums=0,
  )


class _TestCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64())
    self.enter_context(kit.using("handler if served"))

  def check_scan(self, name, axis, reverse):
    """In one program: to compile one for each array takes most of the time."""
    op = functools.partial(getattr(jax_ffi_ops, name), axis=axis)
    draw = np.random.default_rng(0).standard_normal
    # Also rows of several blocks, and more columns than a piece has.
    shapes = [*_SHAPES, (33, 16400), (300, 1030)]
    arrays = [draw(x).astype(dtype) for x in shapes for dtype in _DTYPES]
    if name != "cumlogsumexp":
      arrays += [
          (64 * draw(x)).astype(dtype)
          for x in shapes
          for dtype in ("int8", "int64")
      ]
    run = lambda arrays, in_place: [
        op(x, reverse=reverse, in_place=in_place) for x in arrays
    ]
    expected = jax.jit(run, static_argnums=1)(arrays, False)
    got = jax.jit(run, static_argnums=1, donate_argnums=0)(
        [jnp.array(x) for x in arrays], True
    )
    for x, y in zip(expected, got, strict=True):
      self.assertEqual(np.asarray(x).tobytes(), np.asarray(y).tobytes())

  def check_rows(self, name, dtype):
    """In one program, as scans are checked."""
    op = getattr(jax_ffi_ops, name)
    drawn = [_operands(name, shape, dtype) for shape in _SHAPES]
    every_rows, every_weights = zip(*drawn)

    def run(every_rows, in_place):
      return [
          op(*rows, *weights, in_place=in_place)
          for rows, weights in zip(every_rows, every_weights)
      ]

    expected = jax.jit(run, static_argnums=1)(every_rows, False)
    # Made anew: what is donated must not be NumPy's memory.
    got = jax.jit(run, static_argnums=1, donate_argnums=0)(
        jax.tree.map(jnp.array, every_rows), True
    )
    for x, y in zip(*map(jax.tree.leaves, (expected, got)), strict=True):
      self.assertEqual(np.asarray(x).tobytes(), np.asarray(y).tobytes())

  def check_operands_that_are_used_again(self, name):
    op = getattr(jax_ffi_ops, name)
    rows, weights = _operands(name, (7, 3, 130), "float32")
    rows = [jnp.array(x) for x in rows]

    def found(in_place):
      def and_operands(*rows):
        return jax.tree.leaves(op(*rows, *weights, in_place=in_place)), rows

      return (
          jax.jit(and_operands)(*rows),
          jax.jit(jax.vmap(and_operands, 1))(*rows),
          jax.grad(lambda *rows: jnp.sum(and_operands(*rows)[0][0]))(*rows),
      )

    jax.tree.map(np.testing.assert_array_equal, found(True), found(False))


class InPlaceTest(_TestCase):

  @parameterized.product(name=_ROWS, dtype=_DTYPES[::2])
  def test_same_bits(self, name, dtype):
    self.check_rows(name, dtype)

  @parameterized.product(name=_SCANS, way=((0, True), (1, False)))
  def test_scans_have_the_same_bits(self, name, way):
    self.check_scan(name, *way)

  @parameterized.parameters(*_ROWS, *_SCANS)
  def test_nothing_is_copied(self, name):
    op = getattr(jax_ffi_ops, name)
    rows, weights = _operands(name, (512, 1024), "float32")
    rows = [jnp.array(x) for x in rows]
    compiled = _donating(op).lower(rows, weights).compile()
    text = compiled.as_text()
    self.assertIn("output_to_operand_aliasing={", text)
    self.assertNotRegex(text, r"f32\[512,1024\]\S* copy\(")
    # Statistics, and what XLA keeps for itself.
    self.assertLess(compiled.memory_analysis().temp_size_in_bytes, 2**16)

  @parameterized.parameters(_ROWS[0], _SCANS[-1])
  def test_operands_that_are_used_again(self, name):
    self.check_operands_that_are_used_again(name)

  def test_operand_that_examples_share(self):
    """It has other sizes than the result, and cannot become it."""
    (x, r), (w,) = _operands("add_rms_norm", (5, 130), "float32")

    def found(axes, rows, in_place):
      op = functools.partial(jax_ffi_ops.add_rms_norm, in_place=in_place)
      return jax.jit(jax.vmap(op, (*axes, None)))(*rows, w)

    for call in (((0, None), (x, r[0])), ((None, 0), (x[0], r))):
      jax.tree.map(
          np.testing.assert_array_equal, found(*call, True), found(*call, False)
      )

  def test_calls_in_one_program(self):
    """A call that is not in place is not taken for one that is."""
    x = jnp.arange(12.0).reshape(3, 4)
    for order in ((False, True), (True, False)):
      calls = lambda x, order=order: [
          jax_ffi_ops.cumsum(x, axis=1, in_place=in_place) for in_place in order
      ]
      text = jax.jit(calls).lower(x).as_text()
      self.assertEqual(text.count("stablehlo.custom_call"), 2)
      self.assertEqual(text.count("#stablehlo.output_operand_alias<"), 1)

  def test_carry_of_a_loop(self):
    x = jnp.ones((64, 512))

    def loop(x):
      body = lambda _, x: jax_ffi_ops.rms_norm(x, in_place=True)
      return lax.fori_loop(0, 3, body, x)

    text = jax.jit(loop, donate_argnums=0).lower(x).compile().as_text()
    self.assertNotRegex(text, r"f64\[64,512\]\S* copy\(")

  def test_wrong_values(self):
    with self.assertRaisesRegex(
        TypeError, "in_place must be True or False, got 1"
    ):
      jax_ffi_ops.softmax(jnp.ones(3), in_place=1)


class MoreInPlaceTest(_TestCase):

  @parameterized.product(name=_SCANS, way=((0, False), (1, True)))
  def test_scans_have_the_same_bits(self, name, way):
    self.check_scan(name, *way)

  @parameterized.product(name=_ROWS, dtype=_DTYPES[1::2])
  def test_same_bits(self, name, dtype):
    self.check_rows(name, dtype)

  @parameterized.parameters(*_ROWS[1:], *_SCANS[:-1])
  def test_operands_that_are_used_again(self, name):
    self.check_operands_that_are_used_again(name)


if __name__ == "__main__":
  absltest.main()
