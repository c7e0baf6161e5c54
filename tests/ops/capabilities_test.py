# SPDX-License-Identifier: Apache-2.0
"""What docs/capabilities.md says of an op, the op's own test tries."""

import pathlib
import re
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax.numpy as jnp
import own_case

from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing.cases import choices

_HERE = pathlib.Path(__file__).parent
_PAGE = _HERE.parents[1] / "docs/capabilities.md"


def _rows(region):
  text = _PAGE.read_text("utf-8")
  table = re.search(f"(?s)<!-- {region} -->\n(.*?)<!-- /{region} -->", text)[1]
  return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


_KINDS = {word: re.findall(r"\w+", dtypes) for word, dtypes in _rows("dtypes")}
_OPS = [(row[0].strip("`"), *row[2:6]) for row in _rows("ops")]
_ALL = [name for name in dir(testing.OpTest) if name.startswith("test")]


def _dtypes(cell):
  words = [word.strip("`") for word in cell.split(", ")]
  return {name for word in words for name in _KINDS.get(word, [word])}


class CapabilitiesTest(parameterized.TestCase):

  def test_every_op_has_a_row(self):
    folders = {path.parent.name for path in _HERE.glob("*/*_test.py")}
    self.assertEqual(
        {op for op, *_ in _OPS}, folders, "docs/capabilities.md has each op"
    )

  @parameterized.parameters(*_OPS)
  def test_row(self, op, dtypes, gradients, handlers, split_row):
    tests = own_case.own_tests(op)
    case = tests[0].case
    self.assertEqual(case.op.name, op)
    # Under all transformations: no test of the suite is left out or replaced.
    for name in _ALL:
      self.assertIs(getattr(tests[0], name), getattr(testing.OpTest, name))
    with mock.patch.object(choices, "THOROUGH", True):
      cases = [*choices.dtypes(case), *(test.case for test in tests)]
    tried = {jnp.dtype(x.dtype).name for c in cases for x in c.operands}
    self.assertEqual(_dtypes(dtypes), tried)
    moving = any(case.op.is_differentiable(x.dtype) for x in case.result_cores)
    self.assertEqual(moving, not gradients.startswith("none"))
    self.assertEqual(
        "cpu" in case.op.backward_platforms, gradients == "backward handler"
    )
    self.assertIn("cpu", case.op.forward_platforms)
    # What has CUDA handlers is tried in the emulator.
    build = (_HERE / op / "BUILD.bazel").read_text("utf-8")
    self.assertEqual("cuda = False" in build, handlers == "CPU")
    # The suite looks whether a program gathers a row, if there is a split.
    self.assertEqual(bool(case.op.split), split_row == "pieces")


if __name__ == "__main__":
  absltest.main()
