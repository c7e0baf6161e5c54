# SPDX-License-Identifier: Apache-2.0
"""What is a comment of C++, and what only looks like one."""

from absl.testing import absltest
from absl.testing import parameterized

from jax_ffi_ops.kit.toolchain import texts


class TextsTest(parameterized.TestCase):

  @parameterized.parameters(
      ("a // b\nc", "a\nc"),
      ("a /* b\n c */ d", "a  \n d"),
      ("a/* b */d", "a d"),
      ("a // b \\\n c\nd", "a\n\nd"),
      ("f('\"'); // b", "f('\"');"),
      ("1'000; // b", "1'000;"),
  )
  def test_comments(self, text, expected):
    self.assertEqual(texts.without_comments(text), expected)

  @parameterized.parameters(
      '"a // b"',
      '"\\" // b"',
      "'//'",
      'R"(\n // a " /* \n)"',
      'u8R"x(a)" // b)x"',
      "#include <a//b.h>",
      "1'0; f(\"'//x\")",
      "a / b * c / d",
  )
  def test_no_comments(self, text):
    self.assertEqual(texts.without_comments(text), text)


if __name__ == "__main__":
  absltest.main()
