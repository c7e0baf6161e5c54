# SPDX-License-Identifier: Apache-2.0
"""What is compiled at run time reads and writes within its arrays.

With --config=asan and ubsan, it is instrumented as the rest is.
"""

import os
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import lax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.compiled import compile  # pylint: disable=redefined-builtin
from jax_ffi_ops.kit import toolchain

_SANITIZER = os.environ.get("SANITIZER", "")
_SIGNS = {"address": b"__asan_", "undefined": b"__ubsan_"}


def _lookups(x, i):
  """Reads and writes outside of x, too: jax leaves that out, or clamps it."""

  def step(c, k):
    c = c.at[k].add(x[k % 3])
    return c, c[k] + c[i]

  return lax.scan(step, x, jnp.arange(-2, 9))


def _slices(x, i):
  def step(c, k):
    found = lax.dynamic_slice(c, (k + i,), (3,))
    return lax.dynamic_update_slice(c, found * 0.9, (k - i,)), found

  return lax.scan(step, x, jnp.arange(-3, 9))


def _loss(function):
  return lambda *args: sum(jnp.sum(y * y) for y in function(*args))


class SanitizersTest(parameterized.TestCase):

  # A row, and more than two vectors of any level.
  @parameterized.product(function=[_lookups, _slices], rows=[1, 33])
  def test_stays_within_arrays(self, function, rows):
    rng = np.random.default_rng(rows)
    x = rng.normal(size=(rows, 7)).astype(np.float32)
    i = rng.integers(-20, 20, rows, np.int32)
    real = toolchain.shared_object
    if _SANITIZER in _SIGNS:
      options = [f"-fsanitize={_SANITIZER}", "-fno-sanitize-recover=all"]
      self.enter_context(
          mock.patch.object(
              toolchain,
              "shared_object",
              lambda text, **given: real(text, **given | {"options": options}),
          )
      )
    fast = compile(function, least_rows=(1, 1), strict=True)
    got, expected = (
        jax.jit(jax.value_and_grad(_loss(jax.vmap(f))))(x, i)
        for f in (fast, function)
    )
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3),
        got,
        expected,
    )
    if _SANITIZER in _SIGNS:
      for path in fast.libraries:
        self.assertIn(_SIGNS[_SANITIZER], pathlib.Path(path).read_bytes())


if __name__ == "__main__":
  absltest.main()
