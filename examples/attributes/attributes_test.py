# SPDX-License-Identifier: Apache-2.0
"""What arrives in the handler; what is refused by the kit, jax and headers."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
from attributes import arrays
from attributes import Border
from attributes import nested
from attributes import scalars
from attributes import struct
from attributes import text
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit


class FrozenDict(dict):

  def __hash__(self):
    return hash(tuple(self.items()))


_SCALARS = dict(
    flag=True, i8=-(2**7), i16=-(2**15), i32=-(2**31), i64=-(2**63),
    u8=2**8 - 1, u16=2**16 - 1, u32=2**32 - 1, u64=2**64 - 1,
    f32=0.1, f64=0.1, name="one name",
)  # fmt: skip
_WINDOW = dict(size=3, scale=0.5, border=Border.WRAP)
# Hashable, as a mapping in a mapping has to be for jax; the kit needs no such.
_OPTIONS = {"deep": FrozenDict(count=np.int64(7))}
_TEXT = jax.ShapeDtypeStruct((256,), np.uint8)


class AttributesTest(parameterized.TestCase):

  def test_scalars(self):
    self.assertEqual(
        text(jax.jit(functools.partial(scalars, **_SCALARS))()),
        "1 -128 -32768 -2147483648 -9223372036854775808 255 65535 4294967295"
        " 18446744073709551615 0.10000000149011612 0.10000000000000001"
        " one name",
    )

  def test_arrays(self):
    self.assertEqual(
        text(arrays(integers=[1, -2], numbers=(0.5, 3))), "1 -2 0.5 3"
    )
    self.assertEqual(text(arrays(integers=[], numbers=np.arange(2.0))), "0 1")

  def test_struct_and_enum(self):
    self.assertEqual(text(struct(window=_WINDOW)), "wrap 3 0.5")
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "window.border must be 0 or 1, got 2"
    ):
      struct(window=_WINDOW | {"border": 2}).block_until_ready()

  def test_nested_and_optional(self):
    options = {"deep": {"count": 7}}
    self.assertEqual(text(nested(options=options)), "7")
    self.assertEqual(text(nested(options=options, offset=None)), "7")
    self.assertEqual(text(nested(options=options, offset=0.5)), "7 0.5")

  def test_equal_numbers_are_not_mixed_up(self):
    """jax would take one program for both: 0.0 == -0.0, also in a mapping."""

    @jax.jit
    def both():
      return [struct(window=_WINDOW | {"scale": x}) for x in (0.0, -0.0)]

    self.assertEqual([text(x) for x in both()], ["wrap 3 0", "wrap 3 -0"])

  @parameterized.named_parameters(
      ("missing", {"i8": 1}, TypeError, "expected the attributes .*'u8'"),
      ("extra", _SCALARS | {"j": 1}, TypeError, r"got .*'j'"),
      ("mistyped", _SCALARS | {"i8": 1.0}, TypeError, "i8 must be an integer"),
      ("too_large", _SCALARS | {"i8": 128}, ValueError, "i8 must fit into"),
  )
  def test_the_kit_refuses(self, attributes, error, message):
    with self.assertRaisesRegex(error, f"example_scalars: .*{message}"):
      scalars(**attributes)

  @parameterized.named_parameters(
      ("missing", {}, TypeError, "options: expected .*'deep'"),
      ("no_mapping", {"deep": 1}, TypeError, "options: deep must be a mapping"),
      ("deep_below", {"deep": {"count": -1}}, ValueError,
       "options: deep: count must be at least 0, got -1"),
  )  # fmt: skip
  def test_the_kit_refuses_in_a_mapping(self, options, error, message):
    with self.assertRaisesRegex(error, f"example_nested: {message}"):
      nested(options=options)

  @parameterized.named_parameters(
      ("missing", {}, "Wrong number of attributes: expected 1 but got 0"),
      ("extra", {"window": _WINDOW, "j": 1}, "expected 1 but got 2"),
      ("misnamed", {"windows": _WINDOW}, "do not fit: window"),
      ("mistyped", {"window": 1}, "Wrong attribute type: expected dictionary but got scalar"),
      ("member_missing", {"window": {"size": 3}}, "expected 3 attributes but got 1"),
      ("member_mistyped", {"window": _WINDOW | {"border": np.int64(1)}},
       "Wrong scalar data type: expected S32 but got S64"),
  )  # fmt: skip
  def test_the_headers_refuse(self, attributes, message):
    """Without the kit's types: what any other caller meets."""
    attributes = jax.tree.map(
        lambda x: np.int32(x) if isinstance(x, Border) else x, attributes
    )
    call = jax.ffi.ffi_call("example_struct", _TEXT)
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, message):
      call(**attributes).block_until_ready()

  @parameterized.named_parameters(
      ("none", {}, "attributes must be options and, if any, offset, got 0"),
      ("extra", {"options": _OPTIONS, "a": 1}, "must be options and.*, got 2"),
      ("missing", {"a": 1}, "Unexpected attribute: options"),
      ("mistyped", {"options": 1}, "expected dictionary but got scalar"),
      ("deep", {"options": {"a": 1}}, "Unexpected attribute: deep"),
      ("offset", {"options": _OPTIONS, "offset": 1}, "expected F32 but got S64"),
  )  # fmt: skip
  def test_the_handler_refuses(self, attributes, message):
    """What `Attrs` and `Dictionary` leave to the handler."""
    call = jax.ffi.ffi_call("example_nested", _TEXT)
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, message):
      call(**attributes).block_until_ready()

  def test_short_text(self):
    call = jax.ffi.ffi_call("example_arrays", jax.ShapeDtypeStruct((2,), "u1"))
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "text must have 6 elements or more, got 2"
    ):
      call(
          integers=np.array([1, 2, 3], np.int32), numbers=np.zeros(0)
      ).block_until_ready()

  @parameterized.parameters(
      (1j, complex),
      (np.float16(0.25), np.float16),
      (np.dtype(jnp.bfloat16).type(0.5), jnp.bfloat16),
      (np.array([1j]), [complex]),
      (np.array([True]), [bool]),
      (np.ones(1, np.float16), [np.float16]),
      (np.ones(1, jnp.bfloat16), [jnp.bfloat16]),
      (("a", "b"), [str]),
  )
  def test_what_ffi_does_not_know(self, value, kind):
    with self.assertRaisesRegex(
        (TypeError, jax.errors.JaxRuntimeError), "Unsupported|unsupported"
    ):
      jax.ffi.ffi_call("example_nested", _TEXT)(a=value).block_until_ready()
    with self.assertRaisesRegex(TypeError, "An attribute must be"):
      kit.Attribute(kind)


if __name__ == "__main__":
  absltest.main()
