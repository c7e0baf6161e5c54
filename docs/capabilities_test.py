# SPDX-License-Identifier: Apache-2.0
"""The tables of capabilities.md are what the declarations say."""

import pathlib
import re

from absl.testing import absltest
import capabilities

_PAGE = pathlib.Path(__file__).with_name("capabilities.md")


class CapabilitiesTest(absltest.TestCase):

  def test_tables(self):
    text = _PAGE.read_text("utf-8")
    for name, table in capabilities.tables().items():
      found = re.search(f"(?s)<!-- {name} -->\n(.*?)<!-- /{name} -->", text)
      self.assertEqual(
          found[1], table, "Put there what bazel run //docs:capabilities prints"
      )


if __name__ == "__main__":
  absltest.main()
