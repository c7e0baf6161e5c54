# SPDX-License-Identifier: Apache-2.0
"""A library for two platforms, where one of them is not there."""

import os

from absl.testing import absltest
import jax
import jax.numpy as jnp

from jax_ffi_ops import kit

_twice = kit.op(
    "cuda_test_twice",
    library=kit.Library(os.environ["TWICE"]),
    signature="()->()",
    reference=lambda x: x + x,
    dtypes=("float32",),
)

_TARGET = "cuda_test_twice_fwd"


def _export(*platforms):
  check = jax.export.DisabledSafetyCheck.custom_call(_TARGET)
  export = jax.export.export(
      jax.jit(_twice), platforms=platforms, disabled_checks=[check]
  )
  return export(jax.ShapeDtypeStruct((8,), jnp.float32)).mlir_module()


class TwiceTest(absltest.TestCase):

  def test_the_cpu_runs_it(self):
    x = jnp.arange(5.0)
    self.assertIn(_TARGET, jax.jit(_twice).lower(x).as_text())
    self.assertSequenceEqual([0, 2, 4, 6, 8], _twice(x).tolist())

  def test_lowering_for_cuda(self):
    traced = jax.jit(_twice).trace(jnp.arange(5.0))
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    self.assertIn(f"@{_TARGET}(", text)

  def test_lowering_for_others(self):
    traced = jax.jit(_twice).trace(jnp.arange(5.0))
    text = traced.lower(lowering_platforms=("tpu",)).as_text()
    self.assertNotIn(_TARGET, text)

  def test_export(self):
    self.assertIn(f"@{_TARGET}(", _export("cuda"))
    self.assertIn(f"@{_TARGET}(", _export("cpu", "cuda"))
    self.assertNotIn(_TARGET, _export("tpu"))


if __name__ == "__main__":
  absltest.main()
