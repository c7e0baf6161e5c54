# SPDX-License-Identifier: Apache-2.0
"""kit.call: handlers that are no generalized ufuncs."""

import functools
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np

import jax_ffi_ops
from jax_ffi_ops import kit

_LIBRARY = kit.Library(
    pathlib.Path(jax_ffi_ops.__file__).parent / "ops/librms_norm_ext.so"
)
_TARGET = "xla_ffi_ops_rms_norm_fwd"


def _results(x, *, eps, present):
  del eps, present
  return (
      jax.ShapeDtypeStruct(x.shape, x.dtype),
      jax.ShapeDtypeStruct(x.shape[:-1], np.float32),
  )


def _call(**kwargs):
  """Returns a function of x and eps."""
  function = kit.call(
      _TARGET,
      library=_LIBRARY,
      results=_results,
      attributes={
          "eps": kit.Attribute(np.float64, minimum=0),
          "present": np.int64,
      },
      **kwargs,
  )
  return functools.partial(function, present=1)


class KitCallTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(kit.using("handler if served"))
    self.x = np.random.default_rng(0).normal(size=(3, 5)).astype("float32")
    self.expected = np.asarray(jax_ffi_ops.rms_norm(self.x, eps=0.5))

  @parameterized.parameters(True, False)
  def test_value(self, jit):
    function = lambda x: _call()(x, eps=0.5)
    y, rstd = (jax.jit(function) if jit else function)(self.x)
    np.testing.assert_array_equal(y, self.expected)
    self.assertEqual(rstd.shape, (3,))

  @parameterized.parameters(1, 1.0, np.float32(1), np.int64(1))
  def test_attribute_is_converted(self, eps):
    text = jax.jit(lambda x: _call()(x, eps=eps)).lower(self.x).as_text()
    self.assertIn("eps = 1.000000e+00 : f64", text)

  @parameterized.parameters((True,), ("1",), (None,))
  def test_attribute_is_refused(self, eps):
    with self.assertRaisesRegex(TypeError, f"{_TARGET}: eps must be a number"):
      _call()(self.x, eps=eps)

  def test_attribute_is_traced(self):
    with self.assertRaisesRegex(TypeError, "eps must be known"):
      jax.jit(lambda x, eps: _call()(x, eps=eps))(self.x, 0.5)

  def test_names_of_attributes(self):
    with self.assertRaisesRegex(
        TypeError, r"expected .*'eps', 'present'\], got \['present'\]"
    ):
      _call()(self.x)

  def test_zeros_of_both_signs_are_not_mixed_up(self):
    function = _call()
    text = (
        jax.jit(lambda x: [function(x, eps=eps) for eps in (0.0, -0.0)])
        .lower(self.x)
        .as_text()
    )
    self.assertIn("eps = 0.000000e+00 : f64", text)
    self.assertIn("eps = -0.000000e+00 : f64", text)

  def test_alias(self):
    function = _call(input_output_aliases={0: 0})
    x = jax.numpy.array(self.x)
    program = jax.jit(lambda x: function(x, eps=0.5), donate_argnums=0)
    text = program.lower(x).compile().as_text()
    self.assertIn("output_to_operand_aliasing={{0}: (0, {})}", text)
    np.testing.assert_array_equal(program(x)[0], self.expected)
    # What is used afterwards is not written.
    x = jax.numpy.array(self.x)
    y, again = jax.jit(lambda x: (function(x, eps=0.5)[0], x + 0))(x)
    np.testing.assert_array_equal(y, self.expected)
    np.testing.assert_array_equal(again, self.x)
    np.testing.assert_array_equal(x, self.x)

  @parameterized.parameters((False, 0), (True, 2))
  def test_side_effect(self, has_side_effect, count):
    function = _call(has_side_effect=has_side_effect)

    def unused(x):
      function(x, eps=0.5)
      function(x, eps=0.5)
      return x

    text = jax.jit(unused).lower(self.x).compile().as_text()
    self.assertEqual(text.count(f'custom_call_target="{_TARGET}"'), count)

  def test_handler_that_the_library_lacks(self):
    with self.assertRaisesRegex(ImportError, "no FFI handler 'no_such_target'"):
      kit.call("no_such_target", library=_LIBRARY, results=_results)

  def test_attribute_without_a_type(self):
    with self.assertRaisesRegex(TypeError, "An attribute must be"):
      kit.call(
          _TARGET, library=_LIBRARY, results=_results, attributes={"eps": None}
      )

  @parameterized.parameters([[[1.0]]], [["x"]], [[None]])
  def test_operand_that_is_no_array(self, operand):
    with self.assertRaisesRegex(
        TypeError, f"{_TARGET}: operand 0 must be an array, got "
    ):
      _call()(operand, eps=0.5)

  @parameterized.parameters(0, 2)
  def test_number_of_operands(self, count):
    with self.assertRaisesRegex(
        TypeError,
        f"{_TARGET}: `results` is called with {count} arrays and .*eps",
    ):
      _call()(*[self.x] * count, eps=0.5)

  def test_layouts(self):
    column_major = _call(input_layouts=[(1, 0)], output_layouts=[(1, 0), None])
    text = jax.jit(lambda x: column_major(x, eps=0.5)).lower(self.x).as_text()
    self.assertIn("operand_layouts = [dense<[0, 1]>", text)
    self.assertIn("result_layouts = [dense<[0, 1]> :", text)

  @parameterized.parameters(
      ("broadcast_all", 0), ("sequential", 1), ("expand_dims", 0)
  )
  def test_vmap(self, method, scans):
    function = jax.vmap(functools.partial(_call(vmap_method=method), eps=0.5))
    x = np.stack([self.x, 2 * self.x])
    self.assertEqual(str(jax.make_jaxpr(function)(x)).count("scan"), scans)
    np.testing.assert_array_equal(function(x)[0][0], self.expected)

  def test_vmap_is_not_guessed(self):
    with self.assertRaisesRegex(NotImplementedError, "vmap"):
      jax.vmap(functools.partial(_call(), eps=0.5))(self.x[None])

  def test_optional_attribute(self):
    """It is no attribute of the call, and None for `results`."""
    seen = []

    def results(x, *, eps, present, mode):
      seen.append(mode)
      return _results(x, eps=eps, present=present)

    function = kit.call(
        _TARGET,
        library=_LIBRARY,
        results=results,
        attributes={
            "eps": np.float64,
            "present": np.int64,
            "mode": kit.Attribute(str, optional=True),
        },
    )
    for mode in ({}, {"mode": None}):
      y, _ = function(self.x, eps=0.5, present=1, **mode)
      np.testing.assert_array_equal(y, self.expected)
    self.assertEqual(seen, [None, None])
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "attributes"):
      jax.block_until_ready(function(self.x, eps=0.5, present=1, mode="fast"))

  def test_nested_attribute(self):
    function = kit.call(
        _TARGET,
        library=_LIBRARY,
        results=lambda x, *, options: x,
        attributes={"options": {"deep": {"size": np.int32}, "name": str}},
    )
    options = {"deep": {"size": 3}, "name": "n"}
    text = jax.jit(lambda x: function(x, options=options)).lower(self.x)
    self.assertIn(
        'options = {deep = {size = 3 : i32}, name = "n"}', text.as_text()
    )
    options["deep"]["size"] = 0.5
    with self.assertRaisesRegex(
        TypeError, f"{_TARGET}: options: deep: size must be an integer, got 0.5"
    ):
      function(self.x, options=options)

  def test_token(self):
    """One name for their type in all versions of jax."""
    token = jax.lax.create_token()
    self.assertIs(jax.typeof(token), kit.abstract_token)

  def test_has_no_derivatives(self):
    with self.assertRaisesRegex(ValueError, "cannot be differentiated"):
      jax.jvp(lambda x: _call()(x, eps=0.5), (self.x,), (self.x,))


if __name__ == "__main__":
  absltest.main()
