# SPDX-License-Identifier: Apache-2.0
"""Which calls a program has: traced, lowered, exported and compiled."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import export
import numpy as np
import platforms

_ONE, _TUNED = "example_square", "example_square_tuned"
_CHOICE = "_platform_index"  # An operand of programs for several.
_X = np.arange(5, dtype=np.float32)
_CHECKS = [export.DisabledSafetyCheck.custom_call(t) for t in (_ONE, _TUNED)]


def _targets(text):
  """Returns how often a StableHLO module has each target."""
  return {t: text.count(f"@{t}(") for t in (_ONE, _TUNED) if f"@{t}(" in text}


def _lower(function, *names):
  lowered = jax.jit(function).trace(_X).lower(lowering_platforms=names)
  return lowered.as_text()


class PlatformsTest(parameterized.TestCase):

  @parameterized.parameters(platforms.square, platforms.square_by_platform)
  def test_values(self, function):
    np.testing.assert_array_equal(function(_X), _X * _X)
    np.testing.assert_array_equal(jax.jit(function)(_X), _X * _X)

  def test_registered(self):
    found = platforms.LIBRARY.register(_ONE)
    self.assertIn("cpu", found)
    self.assertEqual(platforms.LIBRARY.register(_TUNED), found)

  @parameterized.parameters("cpu", "cuda", "tpu")
  def test_one_name_is_lowered_alike(self, platform):
    """Also where nothing is registered: only compiling looks for it."""
    text = _lower(platforms.square, platform)
    self.assertEqual(_targets(text), {_ONE: 1})

  def test_one_name_needs_no_choice(self):
    text = _lower(platforms.square, "cpu", "cuda")
    self.assertEqual(_targets(text), {_ONE: 1})
    self.assertNotIn("stablehlo.case", text)
    text = _lower(platforms.square_by_platform, "cpu", "cuda")
    self.assertIn("stablehlo.case", text)

  def test_jit_lowers_its_own_platform(self):
    text = jax.jit(platforms.square_by_platform).lower(_X).as_text()
    self.assertEqual(_targets(text), {_ONE: 1})

  @parameterized.parameters(
      (("cpu",), {_ONE: 1}),
      (("cuda",), {_TUNED: 1}),
      (("tpu",), {}),
      (("cpu", "cuda"), {_ONE: 1, _TUNED: 1}),
      (("cuda", "tpu"), {_TUNED: 1}),
  )
  def test_names_by_platform(self, names, expected):
    text = _lower(platforms.square_by_platform, *names)
    self.assertEqual(_targets(text), expected)
    self.assertEqual(_CHOICE in text, len(names) > 1)
    self.assertEqual("threads = 128 : i64" in text, "cuda" in names)

  def test_export(self):
    program = export.export(
        jax.jit(platforms.square_by_platform),
        platforms=("cpu", "cuda"),
        disabled_checks=_CHECKS,
    )(_X)
    self.assertEqual(_targets(program.mlir_module()), {_ONE: 1, _TUNED: 1})
    np.testing.assert_array_equal(program.call(_X), _X * _X)
    compiled = jax.jit(program.call).lower(_X).compile().as_text()
    self.assertIn(f'"{_ONE}"', compiled)
    self.assertNotIn(_TUNED, compiled)
    self.assertNotIn("conditional", compiled)

  def test_export_does_not_run_elsewhere(self):
    program = export.export(
        jax.jit(platforms.square_by_platform),
        platforms=("cuda",),
        disabled_checks=_CHECKS,
    )(_X)
    with self.assertRaisesRegex(ValueError, "cuda.*cpu"):
      program.call(_X)

  def test_compiled_has_its_own_platform(self):
    """The choice, too, is made when XLA compiles the program."""
    lowered = jax.jit(platforms.square_by_platform).lower(_X)
    self.assertIn("stablehlo.case", lowered.as_text())
    compiled = lowered.compile().as_text()
    self.assertIn(f'"{_ONE}"', compiled)
    self.assertNotIn(_TUNED, compiled)
    self.assertNotIn("conditional", compiled)

  @parameterized.parameters(
      (_ONE, np.float16, 5, {}, "x must have dtype float32, got float16"),
      (_ONE, np.float32, 4, {}, r"y must have .*\[5\].*, got .*\[4\]"),
      (_TUNED, np.float32, 5, {"threads": 128}, "call it on CUDA alone"),
      (_TUNED, np.float32, 5, {"threads": 0}, "must be 1 to 1024, got 0"),
      (_TUNED, np.float32, 5, {"threads": 1025}, "1 to 1024, got 1025"),
  )
  def test_refused(self, target, dtype, size, attributes, message):
    call = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct((size,), np.float32))
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, message):
      jax.block_until_ready(call(_X.astype(dtype), **attributes))


if __name__ == "__main__":
  absltest.main()
