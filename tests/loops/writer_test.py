# SPDX-License-Identifier: Apache-2.0
"""Pieces of C++, and the lines that are made of them."""

from absl.testing import absltest
import numpy as np

from jax_ffi_ops.loops import cpp
from jax_ffi_ops.loops import values
from jax_ffi_ops.loops.writer import Writer

_F32 = np.dtype(np.float32)


def _text(writer):
  return [line.strip() for line in writer.text()]


class CppTest(absltest.TestCase):

  def test_numbers_of_an_index_are_added_up(self):
    i = cpp.Code("i")
    self.assertEqual(cpp.add(cpp.dim(2), i, cpp.dim(-5)).text, "i + -3")
    self.assertEqual(cpp.add(cpp.dim(2), i, cpp.dim(-2)), i)
    self.assertEqual(cpp.product(-4, cpp.dim(3)).number, -12)
    self.assertEqual(cpp.product(0, i), cpp.ZERO)
    self.assertEqual(cpp.product(1, i), i)

  def test_sums_have_parentheses_in_products(self):
    total = cpp.add(cpp.Code("i"), cpp.dim(1))
    self.assertEqual(cpp.product(3, total).text, "3 * (i + 1)")
    self.assertEqual(
        cpp.product(3, cpp.code("({})", total)).text, "3 * (i + 1)"
    )

  def test_a_piece_reads_what_its_parts_read(self):
    a, b = (cpp.Code(n, frozenset([n])) for n in "ab")
    both = cpp.code("Max({}, {})", a, cpp.code("-{}", b))
    self.assertEqual((both.text, both.reads), ("Max(a, -b)", {"a", "b"}))
    self.assertTrue(a.is_constant)
    self.assertFalse(both.is_constant)


class WriterTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.writer = Writer("")

  def test_constants_that_nothing_reads_are_left_out(self):
    a, b = cpp.Code("a"), cpp.Code("b")
    self.writer.comment("mul")
    product = self.writer.let(cpp.multiplied(a, b), _F32, False)
    self.writer.comment("add")
    total = self.writer.let(self.writer.sum(product, b), _F32, False)
    self.writer.assign(a, total)
    self.assertEqual(
        _text(self.writer),
        ["// add", "const float v2 = MulAdd(a, b, b);", "a = v2;"],
    )

  def test_what_a_block_reads_is_kept(self):
    flag = self.writer.let(cpp.Code("x < y"), bool, False)
    with self.writer.block("if ({})", flag):
      self.writer.line("Use({});", 1)
    self.assertIn("const bool v1 = x < y;", _text(self.writer))

  def test_products_are_rounded_in_blocks_that_only_see_them(self):
    a, b = cpp.Code("a"), cpp.Code("b")
    product = self.writer.let(cpp.multiplied(a, b), _F32, False)
    with self.writer.block("while (true)"):
      self.assertEqual(self.writer.sum(product, b).text, "v1 + b")
    self.assertEqual(self.writer.sum(product, b).text, "MulAdd(a, b, b)")


class InPlaceTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    buffer = values.Buffer("a1", values.Kind.OWN)
    self.carry = values.Memory.of(buffer, (3, 4), _F32, True)

  def _lazy(self, x, elementwise=True):
    return values.Lazy(
        (3, 4), _F32, True, x.at, sources=(x,), elementwise=elementwise
    )

  def test_each_element_needs_that_at_its_place(self):
    buffer = values.Buffer("a2", values.Kind.OWN)
    other = values.Memory.of(buffer, (4,), _F32, True)
    self.assertTrue(self._lazy(self.carry).is_in_place(self.carry))
    self.assertTrue(self._lazy(self._lazy(self.carry)).is_in_place(self.carry))
    self.assertTrue(self._lazy(other, False).is_in_place(self.carry))

  def test_an_element_needs_others(self):
    reversed_ = self.carry.part((3, 4), (2, 0), (-1, 1))
    row = self.carry.row(cpp.ZERO)
    for x in (reversed_, row):
      self.assertFalse(self._lazy(x).is_in_place(self.carry))
    moved = self._lazy(self.carry, elementwise=False)
    self.assertFalse(moved.is_in_place(self.carry))
    self.assertFalse(self._lazy(moved).is_in_place(self.carry))


if __name__ == "__main__":
  absltest.main()
