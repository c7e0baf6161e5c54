# SPDX-License-Identifier: Apache-2.0
"""When an op on rows runs its handler on the CPU."""

import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.kit import faster
from jax_ffi_ops.ops.common import norms

_FASTER = kit.faster_for_rows(
    forward=kit.Least(1000, cols=10, sizes={(3, "float16"): 2000}),
    backward=kit.Least(100),
)
_SHARED = kit.faster_for_rows(kit.Least(1000, shared=100), kit.Least(100))


def _is_faster(
    shape, dtype=jnp.float32, backward=False, platform="cpu", faster=_FASTER
):
  x = jax.ShapeDtypeStruct(shape, dtype)
  return faster(x, None, eps=1, platform=platform, backward=backward)


class FasterTest(parameterized.TestCase):

  @parameterized.parameters(
      ((100, 10), {}, True),
      ((5, 20, 10), {}, True),
      ((99, 10), {}, False),
      ((1000, 9), {}, False),
      ((0, 1000), {}, False),
      ((0, 1000), dict(platform="cuda"), True),
      ((100, 1), dict(backward=True), True),
      ((99, 1), dict(backward=True), False),
  )
  def test_size(self, shape, keywords, expected):
    with mock.patch.object(faster, "cpu_level", lambda: 3):
      self.assertEqual(_is_faster(shape, **keywords), expected)

  @parameterized.parameters(
      (1, False, False), (3, True, False), (4, True, True)
  )
  def test_level(self, level, expected, expected_for_float16):
    with mock.patch.object(faster, "cpu_level", lambda: level):
      self.assertEqual(_is_faster((100, 10)), expected)
      self.assertEqual(_is_faster((100, 10), jnp.float16), expected_for_float16)

  def test_sizes_of_one_norm(self):
    """They replace the defaults of one level and dtype alone."""
    choice = norms.choice({(3, "float16"): 2**15})
    for level, dtype, least in (
        (3, jnp.float16, 2**15),
        (3, jnp.bfloat16, 2**14),
        (4, jnp.float16, 2**14),
    ):
      with mock.patch.object(faster, "cpu_level", lambda level=level: level):
        for n, expected in ((least, True), (least - 512, False)):
          found = _is_faster((n // 512, 512), dtype, faster=choice.is_faster)
          self.assertEqual(found, expected, (level, dtype, n))

  @parameterized.parameters(({0}, 1000), ({3, 5}, 100))
  def test_cores(self, cores, least):
    with (
        mock.patch.object(faster, "cpu_level", lambda: 3),
        mock.patch.object(os, "sched_getaffinity", lambda _: cores),
    ):
      self.assertTrue(_is_faster((least,), faster=_SHARED))
      self.assertFalse(_is_faster((least - 1,), faster=_SHARED))


if __name__ == "__main__":
  absltest.main()
