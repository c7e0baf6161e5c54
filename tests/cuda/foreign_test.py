# SPDX-License-Identifier: Apache-2.0
"""A library with a handler for CUDA alone, which has a name of its own."""

import ctypes
import os

from absl.testing import absltest
import jax
import jax.numpy as jnp

from jax_ffi_ops import kit

_twice = kit.op(
    "cuda_test_foreign",
    library=kit.Library(os.environ["FOREIGN"]),
    signature="()->()",
    reference=lambda x: x + x,
    dtypes=("float32",),
)


class ForeignTest(absltest.TestCase):

  def test_both_names(self):
    library = ctypes.CDLL(os.environ["FOREIGN"])
    self.assertTrue(hasattr(library, "ForeignTwiceCuda"))
    self.assertTrue(hasattr(library, "cuda_test_foreign_fwd_cuda"))
    self.assertFalse(hasattr(library, "cuda_test_foreign_fwd_cpu"))

  def test_linkopts(self):
    """Those of a cuda_library, and of what it depends on."""
    with open(os.environ["FOREIGN"], "rb") as file:
      paths = file.read()
    for name in (b"options", b"dep"):
      self.assertIn(b"/of/" + name, paths)

  def test_the_cpu_runs_the_reference(self):
    x = jnp.arange(5.0)
    self.assertNotIn("cuda_test_foreign", jax.jit(_twice).lower(x).as_text())
    self.assertSequenceEqual([0, 2, 4, 6, 8], _twice(x).tolist())

  def test_lowering_for_cuda(self):
    traced = jax.jit(_twice).trace(jnp.arange(5.0))
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    self.assertIn("@cuda_test_foreign_fwd(", text)


if __name__ == "__main__":
  absltest.main()
