# SPDX-License-Identifier: Apache-2.0
"""What callers give to the macros of defs.bzl arrives.

That sources compile shows it of copts, defines and deps: see given.h.
"""

import importlib.util
import pathlib
import re

from absl.testing import absltest
from absl.testing import parameterized

_HERE = pathlib.Path(__file__).parent


class MacrosTest(parameterized.TestCase):

  @parameterized.parameters(
      ("libextension.so", ["dep", "extension", "kernel", "library"]),
      ("libop_library_ext.so", ["dep", "op_library_ffi"]),
      ("libop_ext.so", ["dep"]),
      ("libjax_op_ext.so", ["dep"]),
      ("fastbuild/module.so", ["dep", "module"]),
  )
  def test_linkopts(self, path, expected):
    """Each `-rpath` of a caller is in the object."""
    found = re.findall(rb"(?<=/of/)\w+", (_HERE / path).read_bytes())
    self.assertCountEqual(set(found), [name.encode() for name in expected])

  @parameterized.parameters(("fastbuild", 1), ("dbg", 0))
  def test_ndebug_of_python_modules(self, mode, is_release):
    path = _HERE / mode / "module.so"
    spec = importlib.util.spec_from_file_location("module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    self.assertEqual(module.IS_RELEASE, is_release)


if __name__ == "__main__":
  absltest.main()
