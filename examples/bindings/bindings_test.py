# SPDX-License-Identifier: Apache-2.0
"""All bindings reach one handler; none can register itself from C++."""

import ctypes
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import bindings
import jax
import jaxlib
import numpy as np
import thrice_nanobind
import thrice_pybind11
import twice_c_api
import twice_nanobind
import twice_pybind11

from jax_ffi_ops import kit

_BINDINGS = (
    bindings.by_ctypes,
    bindings.by_nanobind,
    bindings.by_pybind11,
    bindings.by_c_api,
)
_MODULES = (twice_nanobind, twice_pybind11, twice_c_api)
_ONE_FILE = (thrice_nanobind, thrice_pybind11)


class BindingsTest(parameterized.TestCase):

  @parameterized.parameters((0,), (1,), (1000,))
  def test_all_agree(self, size):
    x = np.random.default_rng(size).normal(size=size).astype(np.float32)
    for binding in _BINDINGS:
      np.testing.assert_array_equal(jax.jit(binding)(x), 2 * x)

  def test_each_has_a_target_of_its_own(self):
    x = np.ones(3, np.float32)
    texts = {jax.jit(binding).lower(x).as_text() for binding in _BINDINGS}
    self.assertLen(texts, len(_BINDINGS))

  def test_the_extensions_hand_out_capsules(self):
    for module in (*_MODULES, *_ONE_FILE):
      self.assertEqual(type(module.handler()).__name__, "PyCapsule")

  @parameterized.parameters(*_BINDINGS)
  def test_wrong_dtype(self, binding):
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "expected F32 but got S32"
    ):
      jax.block_until_ready(binding(np.zeros(3, np.int32)))

  @parameterized.parameters(
      bindings.thrice_by_nanobind, bindings.thrice_by_pybind11
  )
  def test_handler_in_the_file_of_a_module(self, thrice):
    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(jax.jit(thrice)(x), 3 * x)

  @parameterized.parameters(*_ONE_FILE)
  def test_module_and_library_have_one_handler(self, module):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.c_void_p
    get.argtypes = [ctypes.py_object, ctypes.c_char_p]
    exported = ctypes.CDLL(module.__file__).ThriceHandler
    self.assertEqual(
        get(module.handler(), None),
        ctypes.cast(exported, ctypes.c_void_p).value,
    )

  @parameterized.parameters(*_MODULES)
  def test_module_without_symbols(self, module):
    """It exports what Python calls, and the error is short."""
    with self.assertRaisesRegex(
        ImportError,
        rf"but \['PyInit_{module.__name__}'\]. Is the symbol hidden",
    ):
      kit.Library(module.__file__).register("example_twice")

  @parameterized.parameters(
      "example_twice", "example_twice_nanobind", "example_twice_pybind11"
  )
  def test_wrong_size(self, target):
    other = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct((4,), np.float32))
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "y must have as many elements as x"
    ):
      jax.block_until_ready(other(np.zeros(3, np.float32)))

  def test_a_target_has_one_handler(self):
    """Copies of a handler cannot share a name."""
    jax.devices()  # Earlier, XLA would find it later, and start no backend.
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "Duplicate FFI handler registration"
    ):
      jax.ffi.register_ffi_target(
          "example_twice", twice_nanobind.handler(), platform="cpu"
      )

  def test_jaxlib_exports_no_registry(self):
    """XLA_FFI_REGISTER_HANDLER needs the functions of XLA's own registry."""
    libraries = sorted(pathlib.Path(jaxlib.__file__).parent.glob("*.so"))
    self.assertNotEmpty(libraries)
    for path in libraries:
      self.assertFalse(hasattr(ctypes.CDLL(path), "XLA_FFI_GetApi"), path)


if __name__ == "__main__":
  absltest.main()
