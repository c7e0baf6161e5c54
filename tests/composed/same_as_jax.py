# SPDX-License-Identifier: Apache-2.0
"""For tests of functions that take the place of one of jax, on a CPU."""

from typing import Any

from absl.testing import parameterized
import jax
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing.cases import devices


class SameAsJaxTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(kit.using("handler if served"))
    self.enter_context(devices.on_cpu())

  def assert_same(self, found: Any, expected: Any) -> None:
    """Compares structures, dtypes, shapes, weak types, and all bits."""
    self.assertEqual(jax.tree.structure(found), jax.tree.structure(expected))
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected)):
      self.assertEqual(x.aval.str_short(), y.aval.str_short())
      np.testing.assert_array_equal(_bits(x), _bits(y))

  def assert_same_error(self, ours: Any, jaxs: Any, *args: Any) -> None:
    with self.assertRaises(Exception) as expected:
      jaxs(*args)
    with self.assertRaises(type(expected.exception)) as found:
      ours(*args)
    self.assertEqual(str(found.exception), str(expected.exception))


def _bits(x):
  return np.ascontiguousarray(x).view(np.uint8)
