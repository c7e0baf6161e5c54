# SPDX-License-Identifier: Apache-2.0
"""docs/compatibility.md lists the private names of jax that the kit uses."""

import ast
import pathlib
import re

from absl.testing import absltest

_SOURCE = pathlib.Path("python/jax_ffi_ops/kit/_jax.py")
_PAGE = pathlib.Path("docs/compatibility.md")
_PRIVATE = re.compile(r"jax\._src|jaxlib\b")


def private_names(source: str) -> set[str]:
  """Returns what is private in a module: of private modules, and with a `_`."""
  tree = ast.parse(source)
  modules = {
      alias.asname or alias.name
      for node in ast.walk(tree)
      if isinstance(node, ast.ImportFrom) and _PRIVATE.match(node.module)
      for alias in node.names
  }
  found = set()
  for node in ast.walk(tree):
    if isinstance(node, ast.Attribute):
      if isinstance(node.value, ast.Name) and node.value.id in modules:
        found.add(f"{node.value.id}.{node.attr}")
      elif node.attr.startswith("_") and not node.attr.startswith("__"):
        found.add(node.attr)
  return found


class PrivateNamesTest(absltest.TestCase):

  def test_page(self):
    table = _PAGE.read_text("utf-8").split("private names -->")[1]
    listed = re.findall(r"(?m)^\| `([^`]+)` \|", table)
    self.assertCountEqual(listed, private_names(_SOURCE.read_text("utf-8")))

  def test_what_is_private(self):
    source = """
from jax._src import core as c
from jaxlib import xla_client
import jax.extend.core
c.token, jax.extend.core.Jaxpr, xla_client.x.y, z._own, z.__name__
"""
    self.assertEqual(private_names(source), {"c.token", "xla_client.x", "_own"})


if __name__ == "__main__":
  absltest.main()
