# SPDX-License-Identifier: Apache-2.0
"""Handlers with a state, through kit.call and kit.op."""

import concurrent.futures
import pathlib
import shutil
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit import _jax
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.load import abi
from jax_ffi_ops.kit.testing.direct import right_calls
from jax_ffi_ops.kit.testing.direct.contract import targets
from jax_ffi_ops.kit.testing.direct.expected import Definition

_PATH = pathlib.Path(__file__).with_name("libstate_ext.so")
_LIBRARY = kit.Library(_PATH)

_count = kit.call(
    "kit_test_count",
    library=_LIBRARY,
    results=lambda start: jax.ShapeDtypeStruct((), np.int64),
    attributes={"start": np.int64},
    has_side_effect=True,
)


def _reference(x, *, base, count):
  return jnp.sum(x * base ** jnp.arange(count, dtype=x.dtype))


_powers = kit.op(
    "kit_test_powers",
    library=_LIBRARY,
    signature="(d)->()",
    attributes={"base": np.float32, "count": np.int64},
    reference=_reference,
    dtypes=(np.float32,),
)


def _counter(start):
  with jax.enable_x64(True):
    return jax.jit(lambda: _count(start=start)).lower().compile()


class StateTest(parameterized.TestCase):

  def test_lives_as_long_as_the_program(self):
    five = _counter(5)
    hundred = _counter(100)
    self.assertEqual([int(five()) for _ in range(3)], [5, 6, 7])
    self.assertEqual(int(hundred()), 100)
    self.assertEqual(int(five()), 8)

  def test_is_one_for_each_call(self):
    with jax.enable_x64(True):
      program = jax.jit(lambda: [_count(start=5), _count(start=5)])
      self.assertEqual([int(x) for x in program()], [5, 5])
      self.assertEqual([int(x) for x in program()], [6, 6])

  @parameterized.parameters(
      (-1, "INTERNAL: .*kit_test_count: thrown"),
      (-2, "INTERNAL: .*kit_test_count: no state was made"),
      (-3, "NOT_FOUND: .*kit_test_count: negative"),
  )
  def test_errors(self, start, message):
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, message):
      _counter(start)()

  def test_metadata(self):
    described = abi.read_metadata(
        _LIBRARY._library.kit_test_count_instantiate_cpu
    )
    self.assertTrue(described.stateful)

  def test_two_libraries(self):
    """The first need not have registered its target with jax yet."""
    with tempfile.TemporaryDirectory() as folder:
      copy = kit.Library(shutil.copy(_PATH, folder))
      with self.assertRaisesRegex(
          ImportError, f"{folder}.*'kit_test_count' for cpu, .*/libstate_ext.so"
      ):
        copy.register("kit_test_count")

  def test_library_that_is_loaded_twice(self):
    for _ in range(2):
      library = kit.Library(_PATH)
      library.register("kit_test_count")
      library.ensure_registered("kit_test_count")
    self.assertEqual(int(_counter(5)()), 5)

  def test_target_that_others_register_before_it_is_lowered(self):
    library = kit.Library(_PATH)
    library.register("kit_test_count")
    with mock.patch.object(_jax, "registered_handler", return_value=1):
      with self.assertRaisesRegex(ImportError, "which 'code of no file' has"):
        library.ensure_registered("kit_test_count")

  def test_op(self):
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    function = lambda x: _powers(x, base=2.0, count=5)
    expected = x @ 2.0 ** np.arange(5)
    np.testing.assert_array_equal(function(x), expected)
    np.testing.assert_array_equal(jax.jit(function)(x), expected)
    np.testing.assert_array_equal(jax.vmap(function, 0)(x), expected)
    gradient = jax.jit(jax.grad(lambda x: function(x).sum()))(x)
    np.testing.assert_array_equal(gradient, [2.0 ** np.arange(5)] * 3)

  def test_op_in_the_suite(self):
    """Its runtime knows no states: it leaves such a call to XLA."""
    operands = [testing.Operand((4,))]
    case = testing.Case(_powers, operands, {"base": 2.0, "count": 4})
    target = targets(case)[0]
    call = right_calls.plain(target, Definition(case))
    (y,) = call.frame.run_quickly(target.library, call.arrays)
    expected = call.arrays["x"] @ 2.0 ** np.arange(4)
    np.testing.assert_allclose(y, expected, rtol=1e-6)

  def test_op_in_threads(self):
    def evaluate(base):
      x = np.ones((3, 4), np.float32)
      return jax.jit(lambda x: _powers(x, base=base, count=4))(x)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
      for base, y in enumerate(pool.map(evaluate, range(16))):
        self.assertAllEqual(y, sum(float(base) ** i for i in range(4)))

  def assertAllEqual(self, array, value):
    np.testing.assert_array_equal(array, np.full(array.shape, value))


if __name__ == "__main__":
  absltest.main()
