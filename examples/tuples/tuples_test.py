# SPDX-License-Identifier: Apache-2.0
"""Tuples within tuples reach the handler as a flat list, in order."""

from absl.testing import absltest
import jax
from jax.extend import backend
from jaxlib import xla_client
import numpy as np
from tuples import multiples

# ((a), (b, c)) into a custom call and out of it.
_TUPLE = "tuple<tuple<tensor<2xf32>>, tuple<tensor<3xf32>, tensor<4xf32>>>"
_PROGRAM = f"""
module {{
  func.func public @main(
      %a: tensor<2xf32>, %b: tensor<3xf32>, %c: tensor<4xf32>
  ) -> (tensor<2xf32>, tensor<3xf32>, tensor<4xf32>) {{
    %left = stablehlo.tuple %a : tuple<tensor<2xf32>>
    %right = stablehlo.tuple %b, %c : tuple<tensor<3xf32>, tensor<4xf32>>
    %in = stablehlo.tuple %left, %right : {_TUPLE}
    %out = stablehlo.custom_call @example_multiples(%in)
        {{api_version = 4 : i32, backend_config = {{}}}} : ({_TUPLE}) -> {_TUPLE}
    %first = stablehlo.get_tuple_element %out[0]
        : ({_TUPLE}) -> tuple<tensor<2xf32>>
    %second = stablehlo.get_tuple_element %out[1]
        : ({_TUPLE}) -> tuple<tensor<3xf32>, tensor<4xf32>>
    %x = stablehlo.get_tuple_element %first[0]
        : (tuple<tensor<2xf32>>) -> tensor<2xf32>
    %y = stablehlo.get_tuple_element %second[0]
        : (tuple<tensor<3xf32>, tensor<4xf32>>) -> tensor<3xf32>
    %z = stablehlo.get_tuple_element %second[1]
        : (tuple<tensor<3xf32>, tensor<4xf32>>) -> tensor<4xf32>
    return %x, %y, %z : tensor<2xf32>, tensor<3xf32>, tensor<4xf32>
  }}
}}
"""


def _arrays():
  return [np.arange(1, n, dtype=np.float32) for n in (3, 4, 5)]


class TuplesTest(absltest.TestCase):

  def test_nested_tuples_in_stablehlo(self):
    client = backend.get_backend("cpu")
    devices = client.devices()[:1]
    executable = client.compile_and_load(
        _PROGRAM,
        xla_client.DeviceList(tuple(devices)),
        xla_client.CompileOptions(),
    )
    operands = [jax.device_put(x, devices[0]) for x in _arrays()]
    results = executable.execute_sharded(operands)
    found = results.disassemble_into_single_device_arrays()
    for i, ((y,), x) in enumerate(zip(found, _arrays())):
      np.testing.assert_array_equal(y, (i + 1) * x)

  def test_pytrees_in_jax(self):
    a, b, c = _arrays()
    found = jax.jit(multiples)({"left": (a,), "right": [b, {"deep": c}]})
    expected = {"left": (a,), "right": [2 * b, {"deep": 3 * c}]}
    jax.tree.map(np.testing.assert_array_equal, found, expected)
    self.assertEqual(multiples(()), ())

  def test_each_array_is_checked(self):
    x = np.zeros(3, np.float32)
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "expected F32 but got S32"
    ):
      jax.block_until_ready(multiples((x, np.zeros(3, np.int32))))

  def test_counts_are_checked(self):
    two = jax.ffi.ffi_call("example_multiples", [_like(_arrays()[0])] * 2)
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "1 operands need as many results, got 2"
    ):
      jax.block_until_ready(two(_arrays()[0]))

  def test_shapes_are_checked(self):
    other = jax.ffi.ffi_call("example_multiples", [_like(_arrays()[1])])
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "result 0 must have its operand's shape"
    ):
      jax.block_until_ready(other(_arrays()[0]))


def _like(x):
  return jax.ShapeDtypeStruct(x.shape, x.dtype)


if __name__ == "__main__":
  absltest.main()
