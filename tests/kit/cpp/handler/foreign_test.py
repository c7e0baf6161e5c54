# SPDX-License-Identifier: Apache-2.0
"""Handlers of others: found by the names that the macro or Library is told."""

import ctypes
import pathlib
import re

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing.cases import programs
import python_process

_PATH = pathlib.Path(__file__).with_name("libforeign_ext.so")
_COUNT = {
    "execute": "ForeignCount",
    "instantiate": "ForeignMakeCount",
    "type_id": "ForeignCountTypeId",
    "type_info": "ForeignCountTypeInfo",
}
_PROGRAM = """
import sys
import foreign_test
foreign_test.count(*sys.argv[1:])
"""
# By the aliases of xla_ffi_extension, and as if it had made none.
_LIBRARIES = {
    "foreign": kit.Library(_PATH),
    "other": kit.Library(
        _PATH,
        symbols={
            "other.twice-again": {"cpu": "ForeignTwice"},
            "other_twice": {"cpu": "ForeignTwice"},
            "other_count": {"cpu": _COUNT},
        },
    ),
}


def count(prefix):
  function = kit.call(
      f"{prefix}_count",
      library=_LIBRARIES[prefix],
      results=lambda: jax.ShapeDtypeStruct((), np.int32),
      has_side_effect=True,
  )
  program = jax.jit(function)
  print(*(int(program()) for _ in range(3)))


class ForeignTest(parameterized.TestCase):

  @parameterized.parameters(
      ("foreign", "foreign_twice"),
      ("foreign", "foreign.twice-again"),
      ("other", "other_twice"),
      ("other", "other.twice-again"),
  )
  def test_handler(self, library, target):
    twice = kit.call(target, library=_LIBRARIES[library], results=lambda x: x)
    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(twice(x), 2 * x)

  @parameterized.parameters("foreign", "other")
  def test_stages(self, prefix):
    """In another process: a type of state has one name in each."""
    process = python_process.run("-c", _PROGRAM, prefix)
    self.assertEqual(process.stdout.split(), ["1", "2", "3"], process.stderr)

  def test_op(self):
    library = kit.Library(
        _PATH, symbols={"my-double.op_fwd": {"cpu": "ForeignTwice"}}
    )
    double = kit.op(
        "my-double.op",
        library=library,
        signature="()->()",
        reference=lambda x: x + x,
        dtypes=("float32",),
    )
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(jax.vmap(double)(x), 2 * x)
    self.assertEqual(jax.grad(double)(1.0), 2.0)
    self.assertIn("handler my-double.op_fwd", kit.explain(double, x))
    program = programs.Program(double, x)
    self.assertEqual(program.call_operands("my-double.op_fwd"), [[6]])

  def test_the_names_of_others_stay(self):
    library = ctypes.CDLL(str(_PATH))
    for symbol in ("ForeignTwice", *_COUNT.values()):
      self.assertTrue(hasattr(library, symbol), symbol)

  def test_missing_symbol(self):
    library = kit.Library(_PATH, symbols={"t": {"cpu": "Nothing"}})
    with self.assertRaisesRegex(
        ImportError, r"exports none of \['Nothing'\], but .*'ForeignTwice'"
    ):
      library.register("t")

  def test_error_is_short(self):
    """Ten symbols, of those that C has: mangled names are of no handler."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
      (large,) = set(re.findall(r"/.*/libstdc\+\+\.so.*", maps.read()))
    for path in (_PATH, _PATH.with_name("libcuda_stub.so"), large):
      with self.assertRaises(ImportError) as caught:
        kit.Library(path).register("nothing")
      _, listed = str(caught.exception).split(" but ")
      self.assertBetween(listed.count("', '"), 1, 9)
      self.assertNotIn("'_Z", listed)

  @parameterized.parameters(
      ({"t": "F"}, "t must map cpu or cuda to symbols, got 'F'"),
      ({"t": {"tpu": "F"}}, "t must map cpu or cuda"),
      ({"t": {}}, "t must map cpu or cuda"),
      ({"t": {"cpu": {"run": "F"}}}, "t for cpu must be a symbol, or map"),
      ({"t": {"cpu": {"prepare": "F"}}}, "t for cpu must be a symbol, or map"),
      ({"t": {"cpu": {"execute": 1}}}, "t for cpu must be a symbol, or map"),
  )
  def test_wrong_symbols(self, symbols, message):
    with self.assertRaisesRegex(ValueError, message):
      kit.Library(_PATH, symbols=symbols)


if __name__ == "__main__":
  absltest.main()
