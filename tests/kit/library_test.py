# SPDX-License-Identifier: Apache-2.0
"""Loading a shared object of FFI handlers, and when it is refused."""

import ctypes
import os
import pathlib
import re
import shutil
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

import jax_ffi_ops
from jax_ffi_ops import kit
from jax_ffi_ops.kit.load import abi
from jax_ffi_ops.kit.load import registry
import python_process

_PATH = pathlib.Path(jax_ffi_ops.__file__).parent / "ops/librms_norm_ext.so"
_TARGETS = ("xla_ffi_ops_rms_norm_fwd", "xla_ffi_ops_rms_norm_bwd")
# JAX's names of those that the library has handlers for.
_PLATFORMS = [
    platform
    for platform in ("cpu", "CUDA")
    if hasattr(ctypes.CDLL(str(_PATH)), f"{_TARGETS[0]}_{platform.lower()}")
]

# Functions that have other names in jaxlib 0.12, in the same places.
_RENAMED = {
    "Error_GetDetails": "Error_GetMessage",
    "InvokeContext_Get": "ExecutionContext_Get",
}


class LibraryTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.register = self.enter_context(
        mock.patch.object(jax.ffi, "register_ffi_target")
    )

  def test_missing_file(self):
    with self.assertRaisesRegex(ImportError, "'/no/lib.so' .*No such file"):
      kit.Library("/no/lib.so").register("target")

  def test_op_before_its_library_is_built(self):
    op = kit.op(
        "library_test_op",
        library=kit.Library("/no/lib.so"),
        signature="(n)->(n)",
        reference=jnp.sin,
        dtypes=("float32",),
    )
    with self.assertRaisesRegex(ImportError, "'/no/lib.so' .*No such file"):
      op(np.ones(3, np.float32))

  def test_library_is_built_later(self):
    path = pathlib.Path(self.create_tempdir(), "lib.so")
    library = kit.Library(path)
    self.assertEqual(library.declare(_TARGETS[0]), {"cpu"})
    self.assertEmpty(library.declare(_TARGETS[1], required=False))
    path.symlink_to(os.path.abspath(_PATH))
    self.register.assert_not_called()
    library.ensure_registered(_TARGETS[0])
    self.register.assert_any_call(_TARGETS[0], mock.ANY, platform="cpu")

  def test_no_file(self):
    with self.assertRaisesRegex(
        ImportError, "'' cannot be loaded: it names no"
    ):
      kit.Library("")

  def test_not_a_library(self):
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
      file.write(b"text")
      file.flush()
      with self.assertRaisesRegex(ImportError, re.escape(repr(file.name))):
        kit.Library(file.name)

  @parameterized.product(path=(str, pathlib.Path), target=_TARGETS)
  def test_registers_for_each_platform(self, path, target):
    kit.Library(path(_PATH)).register(target)
    self.assertEqual(
        self.register.mock_calls,
        [mock.call(target, mock.ANY, platform=p) for p in _PLATFORMS],
    )

  def test_missing_target(self):
    with self.assertRaisesRegex(ImportError, "no FFI handler 'some_other_fwd'"):
      kit.Library(_PATH).register("some_other_fwd")
    self.register.assert_not_called()

  @parameterized.parameters("__dict__", "", "no-name.of.C", "a\0b", "\ud800")
  def test_what_is_no_symbol(self, symbol):
    library = kit.Library(_PATH, symbols={"t": {"cpu": symbol}})
    with self.assertRaisesRegex(ImportError, "no FFI handler 't'"):
      library.register("t")

  def test_symbol_of_a_target_that_is_no_name(self):
    target = "xla-ffi.ops_rms_norm_fwd"
    kit.Library(_PATH).register(target)
    self.register.assert_any_call(target, mock.ANY, platform="cpu")

  @parameterized.product(target=_TARGETS, runtime=((0, 1), (0, 2)))
  def test_older_jaxlib(self, target, runtime):
    accepted = rf"{jaxlib.__version__} accepts 0\.1 to 0\.{runtime[1]}:"
    message = rf"{target}.* version 0\.3 .*{accepted}"
    with mock.patch.object(abi, "runtime_api", return_value=runtime):
      with self.assertRaisesRegex(ImportError, message):
        kit.Library(_PATH).register(target)
    self.register.assert_not_called()

  def test_library_older_than_any_jaxlib_accepts(self):
    described = abi.Metadata((0, 0), False, False)
    with mock.patch.object(abi, "read_metadata", return_value=described):
      with self.assertRaisesRegex(ImportError, r"version 0\.0 .* 0\.1 to 0\."):
        kit.Library(_PATH).register(_TARGETS[0])
    self.register.assert_not_called()

  @parameterized.parameters(((0, 3),), ((0, 99),))
  def test_newer_jaxlib(self, runtime):
    with mock.patch.object(abi, "runtime_api", return_value=runtime):
      kit.Library(_PATH).register(_TARGETS[0])
    self.assertLen(self.register.mock_calls, len(_PLATFORMS))

  @parameterized.parameters(*_TARGETS)
  def test_metadata(self, target):
    handler = ctypes.CDLL(str(_PATH))[target + "_cpu"]
    self.assertEqual(
        abi.read_metadata(handler),
        abi.Metadata((0, 3), False, False),
    )

  def test_functions_of_the_api(self):
    header = pathlib.Path(jax.ffi.include_dir(), "xla/ffi/api/c_api.h")
    field = r"_XLA_FFI_API_STRUCT_FIELD\(XLA_FFI_(\w+)\);"
    found = re.findall(field, header.read_text())
    names = [_RENAMED.get(name, name) for name in found]
    self.assertEqual(tuple(names[: len(abi.FUNCTIONS)]), abi.FUNCTIONS)
    self.assertLess(len(found), abi.ROOM)

  def test_runtime_api(self):
    self.assertBetween(abi.runtime_api(), (0, 3), (0, 99))

  def test_import_starts_no_backend(self):
    program = (
        "import jax_ffi_ops, jax._src.xla_bridge as bridge, sys;"
        "sys.exit(bridge.backends_are_initialized())"
    )
    python_process.run("-c", program).check_returncode()


class FileTest(absltest.TestCase):
  """What becomes of the file, once it is loaded, decides about no error."""

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir())
    self.path = self.folder / "lib.so"
    shutil.copy(_PATH, self.path)

  def check(self, library, names):
    """Looks for a target that is not there, and for one that is."""
    with self.assertRaisesRegex(
        ImportError,
        rf"'{self.path}' has no FFI handler 'none': it exports none of"
        rf" \['none_cpu', 'none_cuda'\], but {names}.* hidden",
    ):
      library.register("none")
    with mock.patch.object(jax.ffi, "register_ffi_target") as register:
      with mock.patch.object(registry, "claim"):
        library.register(_TARGETS[0])
    self.assertLen(register.mock_calls, len(_PLATFORMS))

  def test_as_it_was(self):
    self.check(kit.Library(self.path), r"\['xla_ffi_ops_rms_norm_bwd_cpu',")

  def test_relative(self):
    before = os.getcwd()
    self.addCleanup(os.chdir, before)
    os.chdir(self.folder)
    library = kit.Library(self.path.name)
    os.chdir("/")
    self.check(library, r"\['xla_ffi_ops_rms_norm_bwd_cpu',")

  def test_gone(self):
    library = kit.Library(self.path)
    self.path.unlink()
    self.check(library, "nothing that can be told")

  def write(self, content):
    """Writes a new file: that which is mapped would change with its content."""
    self.path.unlink()
    self.path.write_bytes(content)

  def test_replaced(self):
    for content in (b"", b"text", _PATH.read_bytes()[:1000]):
      self.write(_PATH.read_bytes())
      library = kit.Library(self.path)
      self.write(content)
      self.check(library, "nothing that can be told")

  def test_without_headers_of_sections(self):
    """As `strip --strip-section-headers` leaves it, and with their number."""
    content = bytearray(_PATH.read_bytes())
    for start, end in ((0x28, 0x30), (0x3A, 0x40)):
      content[start:end] = bytes(end - start)
      self.write(content)
      self.check(kit.Library(self.path), "nothing that can be told")


if __name__ == "__main__":
  absltest.main()
