# SPDX-License-Identifier: Apache-2.0
"""What a compiled function has besides its calls."""

import contextlib
import copy
import errno
import io
import os
import pickle
import subprocess
import sys
from unittest import mock
import warnings

from absl.testing import absltest
import jax
from jax import export
import jax.numpy as jnp
import numpy as np

import jax_ffi_ops
from jax_ffi_ops import kit
from jax_ffi_ops.compiled import answers
from jax_ffi_ops.compiled import Compiled
from jax_ffi_ops.compiled import NotCompiledWarning

_X = np.linspace(-1, 1, 7, dtype=np.float32)


def _function(x):
  return jax.lax.fori_loop(0, 9, lambda i, c: jnp.sin(c) + 0.1 * i, x)


_fast = jax_ffi_ops.compile(_function)

# A gradient by a rule of the user, after what others have compiled is loaded.
_RULE = """
import sys

import jax
import jax_ffi_ops
from jax import export
from jax_ffi_ops import compiled
from jax_ffi_ops import kit

compiled.load(*sys.argv[2:])
factor = float(sys.argv[1])

@jax.custom_jvp
def same(x):
  return x

same.defjvp(lambda xs, tangents: (xs[0], factor * tangents[0]))

@jax_ffi_ops.compile(strict=True)
def loop(x):
  return jax.lax.fori_loop(0, 5, lambda i, x: x + 1, same(x))

gradient = jax.jit(jax.grad(loop))
print(gradient(1.0))
checks = kit.export_checks(loop)
print(export.export(gradient, disabled_checks=checks)(1.0).call(1.0))
print(*loop.libraries)
"""

# Runs a program that another process exported, with what that has compiled.
_OTHER = """
import sys
import jax.numpy as jnp
from jax import export
from jax_ffi_ops import compiled
compiled.load(*sys.argv[2:])
program = export.deserialize(open(sys.argv[1], "rb").read())
print(program.call(jnp.ones((3, 7), jnp.float32))[2, 0])
"""


class ToolsTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    folder = self.create_tempdir().full_path
    os.chmod(folder, 0o700)
    self.enter_context(
        mock.patch.dict(os.environ, JAX_FFI_OPS_CACHE=folder + "/cache")
    )
    self.folder = folder

  def test_text(self):
    text = _fast.text(_X)
    self.assertIn("Forward0", text)
    self.assertIn("Backward0", text)
    self.assertIn("for (int64_t", text)

  def test_text_of_what_is_not_compiled(self):
    refused = jax_ffi_ops.compile(lambda x: jnp.fft.fft(x).real)
    with self.assertWarns(NotCompiledWarning):
      with self.assertRaisesRegex(
          ValueError, r"(?s)is compiled:.*fft: there is no rule for this"
      ):
        refused.text(_X)

  def test_lowers(self):
    lowered = _fast.lower(_X)
    self.assertIn("_function_", lowered.as_text())
    np.testing.assert_array_equal(lowered.compile()(_X), _fast(_X))

  def test_pickles(self):
    self.assertIs(pickle.loads(pickle.dumps(_fast)), _fast)
    self.assertIs(copy.deepcopy(_fast), _fast)
    other = copy.copy(jax_ffi_ops.compile(_function, least_rows=(2, 2)))
    self.assertIsInstance(other, Compiled)
    self.assertIn("below 2 rows", kit.explain(other, _X))

  def test_benchmark(self):
    """What it saves decides in this process, and in others."""
    fast = jax_ffi_ops.compile(_function)
    self.assertIn("forward: handler", kit.explain(fast, _X))
    fast(_X)  # It compiles it, as a table that is not mocked does.
    slow = {("forward", 1): (1.0, 2.0), ("forward", 4): (2.0, 1.0),
            ("gradient", 1): (1.0, 2.0), ("gradient", 4): (1.0, 2.0)}  # fmt: skip
    printed = io.StringIO()
    with mock.patch("jax_ffi_ops.compiled.measuring.table", return_value=slow):
      with contextlib.redirect_stdout(printed):
        self.assertEqual(fast.benchmark(_X, rows=(1, 4), save=True), slow)
    self.assertRegex(printed.getvalue(), r"forward +4 +2.0000 +1.0000 +2.00×")
    for own in (fast, jax_ffi_ops.compile(_function)):
      text = kit.explain(own, _X)
      self.assertIn("forward: reference (it is faster below 4 rows)", text)
      self.assertIn("backward: reference (it is faster)", text)

  def test_answers_on_a_full_disk(self):
    os.mkdir(self.folder + "/cache", 0o700)
    full = OSError(errno.ENOSPC, "No space left on device")
    with mock.patch("json.dump", side_effect=full):
      with self.assertRaisesRegex(OSError, "No space left"):
        answers.save("op", (1.0, 1.0))
    self.assertEmpty(os.listdir(self.folder + "/cache"))

  def test_benchmark_times(self):
    with contextlib.redirect_stdout(io.StringIO()):
      found = jax_ffi_ops.compile(_function).benchmark(_X, rows=(1, 2))
    self.assertLen(found, 4)
    for before, after in found.values():
      self.assertGreater(min(before, after), 0)

  def test_benchmark_of_what_is_not_compiled(self):
    """Nothing is timed, also if another call is compiled."""
    printed = io.StringIO()
    step = lambda x, power: (jnp.fft.fft(x**power).real if power > 1 else x + 1)
    fast = jax_ffi_ops.compile(step, static_argnames="power")
    fast(jnp.ones(4), power=1)
    with self.assertWarns(NotCompiledWarning):
      with contextlib.redirect_stdout(printed):
        self.assertEqual(fast.benchmark(jnp.ones(4), rows=(1,), power=2), {})
    self.assertRegex(printed.getvalue(), "Nothing is compiled:\n.*fft: there")

  def test_answers_that_cannot_be_read(self):
    os.mkdir(self.folder + "/cache", 0o700)
    fast = jax_ffi_ops.compile(_function)
    name = jax.eval_shape(fast, _X) and fast.ops[0].declaration.name
    path = (
        f"{self.folder}/cache/{name}-{jax.__version__}"
        f"-level{kit.cpu_level()}.json"
    )
    for text in ("", "[1]", "[1, null]", "{}"):
      with open(path, "w", encoding="utf-8") as file:
        file.write(text)
      text = kit.explain(jax_ffi_ops.compile(_function), _X)
      self.assertIn("forward: handler", text)

  def test_exports_symbolic_sizes(self):
    shape = jax.ShapeDtypeStruct(export.symbolic_shape("n"), "float32")
    # Of the second, jax cannot tell whether it is 0: it runs the function.
    for part, compiles in ((lambda x: x, True), (lambda x: x[1:], False)):
      fast = jax_ffi_ops.compile(_function, least_rows=(1, 1))
      run = jax.jit(lambda x, fast=fast, part=part: fast(part(x)))
      run.trace(shape)
      exported = export.export(run, disabled_checks=kit.export_checks(fast))
      program = exported(shape)
      self.assertEqual("_fwd" in program.mlir_module(), compiles)
      for size in (1, 2, 30):
        x = jnp.linspace(0, 1, size)
        np.testing.assert_allclose(program.call(x), _function(part(x)), 1e-5)

  def test_exports(self):
    fast = jax_ffi_ops.compile(_function)
    jax.eval_shape(fast, _X)  # Now it has the op that is allowed here.
    rows = export.symbolic_shape("rows")
    exported = export.export(
        jax.jit(jax.vmap(fast)), disabled_checks=kit.export_checks(fast)
    )(jax.ShapeDtypeStruct((*rows, 7), np.float32))
    for n in (1, 3, 40):
      x = np.stack([_X + i for i in range(n)])
      np.testing.assert_allclose(exported.call(x), _function(x), 1e-5, 1e-6)
    path = self.create_tempfile(content=b"", mode="wb").full_path
    with open(path, "wb") as file:
      file.write(exported.serialize())
    process = subprocess.run(
        [sys.executable, "-c", _OTHER, path, *fast.libraries],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    expected = float(_function(jnp.ones(7))[0])
    self.assertAlmostEqual(float(process.stdout), expected, places=5)

  def test_rules_of_another_process(self):
    """Functions that differ in nothing but a rule have other gradients."""
    libraries = []
    for factor in (2.0, 3.0):
      process = subprocess.run(
          [sys.executable, "-c", _RULE, str(factor), *libraries],
          capture_output=True,
          check=True,
          text=True,
          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
      )
      gradient, exported, *libraries = process.stdout.split()
      self.assertEqual((float(gradient), float(exported)), (factor, factor))

  def test_warns_of_many_kinds_of_arguments(self):
    fast = jax_ffi_ops.compile(lambda x, n: x * n, static_argnames="n")
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      for n in range(31):
        jax.eval_shape(lambda x, n=n: fast(x, n=n + 0.5), _X)
    with self.assertWarnsRegex(
        NotCompiledWarning,
        r"for 32 kinds .*The last two: float32\(7\) and float32\(7\)",
    ):
      jax.eval_shape(lambda x: fast(x, n=99.5), _X)

  def test_names_no_compiler(self):
    fast = jax_ffi_ops.compile(lambda x: _function(x) + 5)
    with mock.patch.dict(os.environ, JAX_FFI_OPS_CXX="/nowhere"):
      with self.assertWarnsRegex(NotCompiledWarning, "/nowhere .not found."):
        found = fast(_X)
    np.testing.assert_allclose(found, _function(_X) + 5, 1e-5)
    self.assertIn("/nowhere (not found)", kit.explain(fast, _X))
    strict = jax_ffi_ops.compile(lambda x: _function(x) + 5, strict=True)
    with mock.patch.dict(os.environ, JAX_FFI_OPS_CXX="/nowhere"):
      with self.assertRaisesRegex(ValueError, "handler: .*[^.]\\.$"):
        strict(_X)

  def test_is_turned_off(self):
    fast = jax_ffi_ops.compile(lambda x: _function(x) + 6)
    with mock.patch.dict(os.environ, JAX_FFI_OPS_COMPILE="False"):
      with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fast(_X)
      self.assertNotRegex(kit.explain(fast, _X), "(forward|backward): handler")
    np.testing.assert_allclose(found, _function(_X) + 6, 1e-5)
    self.assertEmpty(fast.libraries)


if __name__ == "__main__":
  absltest.main()
