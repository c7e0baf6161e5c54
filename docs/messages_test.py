# SPDX-License-Identifier: Apache-2.0
"""The messages that errors.md explains are those of the sources."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import messages

_ROOT = pathlib.Path.cwd()


class MessagesTest(parameterized.TestCase):

  def test_every_entry_has_a_message(self):
    found = [m for path in messages.sources(_ROOT) for m in messages.of(path)]
    self.assertGreater(len(found), 150)
    self.assertGreater(len(messages.entries()), 30)
    for entry in messages.entries():
      with self.subTest(entry):
        self.assertTrue(any(messages.matches(entry, m) for m in found))

  @parameterized.parameters(
      ("a.py", 'raise ValueError(f"{x}: it must " f"be {y!r}.")',
       ["...: it must be ...."]),
      ("a.py", "raise ValueError(self._text())\ndef _text(): return 'lost'",
       ["...", "lost"]),
      ("a.py", "raise", []),
      ("a.bzl", 'fail("{}: no {}".format(x, y))', ["...: no ..."]),
      ("a.bzl", 'fail("\\n".join(["{} a".format(x), "b"]))', ["... a b"]),
      ("a.cc", 'Fail(name, "be, " + f(a, b) + " so",\n Got(x));',
       ["... must be, ... so, got ..."]),
      ("a.cc", 'Fail(expected, got); // Internal("no")', []),
      ("a.cc", 'throw std::invalid_argument("no " + x);', ["no ..."]),
  )  # fmt: skip
  def test_messages_of(self, name, text, expected):
    path = self.create_tempfile(name, text)
    self.assertEqual(messages.of(pathlib.Path(path.full_path)), expected)

  @parameterized.parameters(
      ("...: no ....", "a: no b.", True),
      ("...: no ....", "a: no", False),
      ("sizes has ...", "`sizes` has 2", True),
  )
  def test_matches(self, entry, message, expected):
    self.assertEqual(messages.matches(entry, message), expected)


if __name__ == "__main__":
  absltest.main()
