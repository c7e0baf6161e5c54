# SPDX-License-Identifier: Apache-2.0
"""What can be imported of jax_ffi_ops, and when shared objects are loaded."""

import importlib
import pathlib
import re

from absl.testing import absltest

import jax_ffi_ops
import python_process

_PUBLIC = (
    ("jax_ffi_ops", "keep_freed_memory"),
    ("jax_ffi_ops", "kit"),
    ("jax_ffi_ops", "load"),
    ("jax_ffi_ops", "rms_norm"),
    ("jax_ffi_ops.doctor.command", "main"),
    ("jax_ffi_ops.kit", "Attribute"),
    ("jax_ffi_ops.kit", "FLOATING"),
    ("jax_ffi_ops.kit", "Library"),
    ("jax_ffi_ops.kit", "Op"),
    ("jax_ffi_ops.kit", "accumulator"),
    ("jax_ffi_ops.kit", "build"),
    ("jax_ffi_ops.kit", "call"),
    ("jax_ffi_ops.kit", "cpu_level"),
    ("jax_ffi_ops.kit", "export_checks"),
    ("jax_ffi_ops.kit", "op"),
)


def _in_new_process(*lines: str) -> str:
  """Returns what a program prints."""
  process = python_process.run("-c", "\n".join(lines))
  process.check_returncode()
  return process.stdout.strip()


class PackageTest(absltest.TestCase):

  def test_public_names(self):
    """Each may be the first one that a program imports."""
    _in_new_process(
        "import os, sys, jax",  # Which takes longer than all else.
        f"for module, name in {_PUBLIC}:",
        "  child = os.fork()",
        "  if not child:",
        "    exec(f'from {module} import {name}')",
        "    os._exit(0)",
        "  assert os.waitpid(child, 0)[1] == 0, name",
    )

  def test_op_is_loaded_when_first_used(self):
    loaded = 'print("librms_norm_ext" in open("/proc/self/maps").read())'
    printed = _in_new_process(
        "import jax_ffi_ops", loaded, "jax_ffi_ops.rms_norm", loaded
    )
    self.assertEqual(printed.split(), ["False", "True"])

  def test_load_loads_all(self):
    printed = _in_new_process(
        "import jax_ffi_ops",
        "jax_ffi_ops.load()",
        'print(open("/proc/self/maps").read())',
    )
    folder = pathlib.Path(jax_ffi_ops.__file__).parent / "ops"
    libraries = list(folder.glob("lib*.so"))
    self.assertNotEmpty(libraries)
    for library in libraries:
      self.assertIn(library.name, printed)

  def test_kit_does_without_the_loop_compiler(self):
    kit = pathlib.Path(jax_ffi_ops.kit.__file__).parent
    sources = list(kit.rglob("*.py"))
    self.assertNotEmpty(sources)
    for path in sources:
      imports = r"\bjax_ffi_ops(\.| import )loops\b"
      self.assertNotRegex(path.read_text("utf-8"), imports, path)

  def test_ops(self):
    """Each op has its name in dir() and for type checkers, and is callable."""
    source = pathlib.Path(jax_ffi_ops.__file__)
    # A long line is one in brackets.
    text = re.sub(
        r"import \(\s*(.*),\s*\)", r"import \1", source.read_text("utf-8")
    )
    ops = [
        file.stem
        for file in (source.parent / "ops").glob("*.py")
        if file.stem != "__init__"
    ]
    self.assertContainsSubset(["kit", "load", *ops], dir(jax_ffi_ops))
    for name in ops:
      exported = f"from jax_ffi_ops.ops.{name} import {name} as {name}\n"
      self.assertIn(exported, text)
      module = importlib.import_module(f"jax_ffi_ops.ops.{name}")
      self.assertIs(getattr(jax_ffi_ops, name), getattr(module, name))

  def test_level_that_is_none(self):
    process = python_process.run(
        "-c",
        "import jax_ffi_ops; jax_ffi_ops.load()",
        XLA_FFI_OPS_CPU_LEVEL="2",
    )
    self.assertIn(
        "ValueError: XLA_FFI_OPS_CPU_LEVEL is '2', not '1', '3' or '4'",
        process.stderr,
    )

  def test_unknown_name(self):
    with self.assertRaisesRegex(AttributeError, "rms_nrom"):
      jax_ffi_ops.rms_nrom


if __name__ == "__main__":
  absltest.main()
