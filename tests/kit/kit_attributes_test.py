# SPDX-License-Identifier: Apache-2.0
"""Attributes: what is converted or refused, and what is never mixed up."""

from fractions import Fraction
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

import jax_ffi_ops
from jax_ffi_ops import kit
from jax_ffi_ops import rms_norm
from jax_ffi_ops.kit.declare import attributes

_LIBRARY = kit.Library(
    pathlib.Path(jax_ffi_ops.__file__).parent / "ops/librms_norm_ext.so"
)
_X = np.ones((2, 4), np.float32)
_F32 = kit.Attribute(np.float32)
_INTEGERS = (np.int8, np.int16, np.int32, np.int64)
_INTEGERS += (np.uint8, np.uint16, np.uint32, np.uint64)
_BFLOAT16 = jnp.dtype(jnp.bfloat16).type
_FLOATS = (np.float16, _BFLOAT16, np.float32, np.float64, np.longdouble)


def _eps(*values):
  """Returns the attributes in a program with calls with these values."""
  text = (
      jax.jit(lambda x: [rms_norm(x, eps=eps) for eps in values])
      .lower(_X)
      .as_text()
  )
  return [part.split(",")[0] for part in text.split("eps = ")[1:]]


class KitAttributesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(kit.using("handler if served"))

  @parameterized.parameters(
      (1,), (1.0,), (np.float32(1),), (np.float64(1),), (np.int8(1),)
  )
  def test_numbers_are_converted(self, eps):
    self.assertEqual(_eps(eps), ["1.000000e+00 : f64"])

  @parameterized.parameters(
      (True,), (np.True_,), ("1",), (None,), (1j,), ([1.0],), (np.ones(1),)
  )
  def test_others_are_refused(self, eps):
    with self.assertRaisesRegex(TypeError, "eps must be a number, got"):
      rms_norm(_X, eps=eps)

  def test_traced_value(self):
    with self.assertRaisesRegex(TypeError, "eps must be known when .* traced"):
      jax.jit(lambda x, eps: rms_norm(x, eps=eps))(_X, 1.0)
    with self.assertRaisesRegex(TypeError, "eps must be known when .* traced"):
      jax.grad(lambda eps: rms_norm(_X, eps=eps).sum())(1.0)

  def test_concrete_array(self):
    with self.assertRaisesRegex(TypeError, "eps must be a number, got"):
      rms_norm(_X, eps=jnp.float32(1))

  def test_equal_values_are_not_mixed_up(self):
    self.assertEqual(
        _eps(0.0, -0.0, 1, 1.0), [
            "0.000000e+00 : f64", "-0.000000e+00 : f64",
            "1.000000e+00 : f64", "1.000000e+00 : f64",
        ]
    )  # fmt: skip

  @parameterized.parameters(
      (np.float32, 0.0, -0.0),
      (np.float64, 0.0, -0.0),
      ([np.float32], [0.0], [-0.0]),
      ([np.int32], [1], [2]),
      ([np.int32], [1], [1, 1]),
      (str, "a", "b"),
      (np.bool_, True, False),
  )
  def test_values_differ(self, kind, one, other):
    attribute = kit.Attribute(kind)
    one, other = (attribute.convert("op", "a", value) for value in (one, other))
    self.assertNotEqual(one, other)

  def test_types_differ(self):
    kinds = (np.int32, np.int64, np.uint8, np.float32, np.float64)
    values = [kit.Attribute(kind).convert("op", "a", 1) for kind in kinds]
    arrays = [kit.Attribute([kind]).convert("op", "a", [1]) for kind in kinds]
    self.assertLen({*values, *arrays}, 2 * len(kinds))

  def test_nan_is_itself(self):
    one, other = (_F32.convert("op", "a", float("nan")) for _ in range(2))
    self.assertEqual(one, other)
    self.assertEqual(hash(one), hash(other))

  @parameterized.parameters(
      (np.int8, 128),
      (np.uint8, -1),
      (np.int64, 2**63),
      (np.float32, 1e39),
      (np.float64, np.longdouble("1e4000")),
      (np.float64, 10**400),
      (np.float32, np.longdouble("-1e39")),
      (np.float64, Fraction(10**400)),
  )
  def test_value_that_does_not_fit(self, kind, value):
    with self.assertRaisesRegex(ValueError, "op: a must fit into"):
      kit.Attribute(kind).convert("op", "a", value)

  def test_limit_does_not_hide_what_wraps(self):
    attribute = kit.Attribute(np.uint8, minimum=0)
    self.assertEqual(attribute.convert("op", "a", np.int64(255)).value, 255)
    with self.assertRaisesRegex(
        ValueError, "op: a must fit into uint8, got 256"
    ):
      attribute.convert("op", "a", np.int64(256))

  def test_integers_of_all_types(self):
    """Each is kept, or refused: for no pair of types does it become another."""
    integers = _INTEGERS
    values = [0, 1, 127, 128, 255, 256, 300, 2**24 + 1, 2**31, 2**40, 2**53 + 1]
    values += [2**63 - 1, 2**63, 2**64 - 1, -1, -128, -129, -(2**31) - 1]
    for kind in (*integers, np.float32, np.float64):
      limits = np.iinfo(kind) if kind in integers else np.finfo(kind)
      for own in (int, *integers):
        for value in values:
          if own is not int and not (
              np.iinfo(own).min <= value <= np.iinfo(own).max
          ):
            continue
          fits = limits.min <= value <= limits.max and (
              kind in integers or int(kind(value)) == value
          )
          scalar, flat = kit.Attribute(kind), kit.Attribute([kind])
          array = [value] if own is int else np.array([value], own)
          with self.subTest(kind=kind, own=own, value=value):
            if fits:
              self.assertEqual(
                  scalar.convert("op", "a", own(value)).value, value
              )
              self.assertEqual(flat.convert("op", "a", array).value[0], value)
              continue
            with self.assertRaisesRegex(ValueError, "op: a must fit into"):
              scalar.convert("op", "a", own(value))
            with self.assertRaisesRegex(
                ValueError, r"op: a\[0\] must fit into"
            ):
              flat.convert("op", "a", array)

  @parameterized.product(
      kind=(*_INTEGERS, np.bool_, str),
      own=(float, *_FLOATS, np.complex64, np.complex128),
      value=(0.0, 1.0, -1.0, 1.5, 300.0, 60000.0, np.inf, -np.inf, np.nan),
  )
  def test_floats_are_no_integers(self, kind, own, value):
    """Whatever their values: none is rounded, wraps, or becomes 0."""
    wrong = r"op: a(\[0\])? must be (an integer|a bool|a str|a flat), got"
    given = own(value)
    for x in (given, np.array(given)):
      with self.assertRaisesRegex(TypeError, wrong):
        kit.Attribute(kind).convert("op", "a", x)
    for x in ([given], np.array([given])) if kind in _INTEGERS else ():
      with self.assertRaisesRegex(TypeError, wrong):
        kit.Attribute([kind]).convert("op", "a", x)

  def test_floats_of_all_types(self):
    """A float attribute has the value, rounded, or refuses it."""
    values = [0.0, -0.0, 1.5, 65504.0, 1e-30, 1e30, 1e39, -1e39, 1e300]
    values += [np.inf, -np.inf, np.nan]
    for kind in (np.float32, np.float64):
      scalar, flat = kit.Attribute(kind), kit.Attribute([kind])
      for own in (float, *_FLOATS):
        for value in values:
          with np.errstate(over="ignore"):
            given = own(value)
          wide = np.longdouble(given)
          with self.subTest(kind=kind, own=own, value=value):
            if np.isfinite(wide) and abs(wide) > np.finfo(kind).max:
              for attribute, x in ((scalar, given), (flat, [given])):
                with self.assertRaisesRegex(ValueError, "must fit into"):
                  attribute.convert("op", "a", x)
              continue
            for x in (
                scalar.convert("op", "a", given).value,
                flat.convert("op", "a", [given]).value[0],
                flat.convert("op", "a", np.array([given])).value[0],
            ):
              self.assertEqual(x.dtype, kind)
              np.testing.assert_array_equal(x, wide.astype(kind))
              self.assertEqual(np.signbit(x), np.signbit(wide))

  @parameterized.parameters(
      (np.int32, np.float32(1)), (np.int32, np.array(1)), (np.int32, np.True_),
      (np.float32, np.array(1)), (np.float32, np.True_), (np.bool_, np.int8(1)),
      (np.int32, 1.0), (np.int32, True), (np.bool_, 1), (str, 1),
      (np.float32, "1"), ([np.int32], [1.5]), ([np.float32], ["1"]), ([np.float32], [True]),
      ([np.float32], 1.0), ([np.float32], None), ([np.float32], "1"),
      ([np.float32], np.ones(())), ([np.float32], np.ones((1, 1))),
      ([np.float32], [[1.0]]), ([np.float32], {1.0}),
  )  # fmt: skip
  def test_value_of_another_kind(self, kind, value):
    with self.assertRaisesRegex(TypeError, r"op: a(\[0\])? must be"):
      kit.Attribute(kind).convert("op", "a", value)

  @parameterized.parameters(
      ([[1.0], [2.0, 3.0]], r"op: a\[0\] must be a number, got \[1.0\]"),
      (np.ones((1, 2)), "op: a must be a flat sequence or NumPy array, got"),
      (jnp.ones(1), "op: a must be a flat sequence or NumPy array, got"),
      ([1.0, None], r"op: a\[1\] must be a number, got None"),
  )
  def test_array_that_is_none(self, value, message):
    with self.assertRaisesRegex(TypeError, message):
      kit.Attribute([np.float32]).convert("op", "a", value)

  def test_bfloat16_is_a_number(self):
    value = np.array([0.5, 3], jnp.bfloat16)
    converted = kit.Attribute([np.float32]).convert("op", "a", value).value
    np.testing.assert_array_equal(converted, np.array([0.5, 3], np.float32))

  @parameterized.parameters(
      ({"a": np.int32},), (kit.Attribute(np.int32, optional=True),)
  )
  def test_ops_know_neither_mappings_nor_optional_attributes(self, kind):
    with self.assertRaisesRegex(TypeError, "my_op: attribute a must be given"):
      kit.op(
          "my_op",
          library=_LIBRARY,
          signature="()->()",
          reference=lambda x, *, a: x,
          attributes={"a": kind},
      )

  @parameterized.parameters(float("inf"), np.longdouble("-inf"))
  def test_infinity_fits(self, value):
    for kind in (np.float32, np.float64):
      converted = kit.Attribute(kind).convert("op", "a", value).value
      self.assertEqual(converted, value)

  def test_minimum(self):
    attribute = kit.Attribute(np.float32, minimum=0)
    attribute.convert("op", "a", 0)
    for value in (-1, float("nan")):
      with self.assertRaisesRegex(ValueError, "op: a must be at least 0, got"):
        attribute.convert("op", "a", value)

  @parameterized.parameters(1, 2.5, float("nan"), 1 - 1e-12)
  def test_below(self, value):
    attribute = kit.Attribute([np.float32], below=1)
    attribute.convert("op", "a", [-2, 0.999])
    message = r"op: a\[1\] must be below 1, got (1.0|2.5|nan)\."
    with self.assertRaisesRegex(ValueError, message):
      attribute.convert("op", "a", [0, value])

  def test_no_value_is_below(self):
    with self.assertRaisesRegex(ValueError, "is at least 1 and below 1"):
      kit.Attribute(np.int64, minimum=1, below=1)

  @parameterized.parameters(
      (np.float64, {}, 1), (np.float64, {"below": 2}, 1),
      (np.int32, {"below": 1}, 0), (np.float32, {"below": 0.5}, -0.5),
      (np.float64, {"minimum": 0.25, "below": 0.5}, 0.25),
  )  # fmt: skip
  def test_example(self, kind, limits, expected):
    example = kit.Attribute(kind, **limits).example_value("op", "a")
    self.assertEqual(example.value, expected)

  @parameterized.parameters((None, 1), (1, 0), (3, 0))
  def test_example_of_a_dimension(self, below, expected):
    attribute = kit.Attribute(np.int64, below=below).as_dimension()
    self.assertEqual(attribute.example_value("op", "a").value, expected)

  @parameterized.parameters(
      (None,), (object,), (complex,), (np.complex64,), (np.float16,),
      (jnp.bfloat16,), ([str],), ([],), ([np.int32, np.int32],), ("nothing",),
      (np.datetime64,), ([bool],), ([np.bool_],), ({"a": None},), ({"a": [bool]},),
      (np.longdouble,), ([np.longdouble],),
  )  # fmt: skip
  def test_type_that_ffi_does_not_have(self, kind):
    with self.assertRaisesRegex(TypeError, "An attribute must be"):
      kit.Attribute(kind)

  @parameterized.parameters(1, None, "")
  def test_name_that_is_none(self, name):
    for declared in ({name: np.int32}, {"b": np.int32, name: np.int32}):
      for nested in (declared, {"a": declared}):
        with self.assertRaisesRegex(
            TypeError, f"op: .*name of an attribute .*, got {name!r}"
        ):
          attributes.schema("op", nested)

  def test_names(self):
    schema = attributes.schema("op", {"a": np.int32, "b": str})
    for values in ({}, {"a": 1}, {"a": 1, "b": "", "c": 1}, {"a": 1, 2: ""}):
      with self.assertRaisesRegex(
          TypeError, r"op: expected .*\['a', 'b'\], got"
      ):
        attributes.convert("op", schema, values)


if __name__ == "__main__":
  absltest.main()
