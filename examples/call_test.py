# SPDX-License-Identifier: Apache-2.0
"""What call.svg shows of each step of a call is what the step has."""

import ctypes
import pathlib
from xml.etree import ElementTree

from absl.testing import absltest
import jax
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import rms_norm

_SVG = pathlib.Path(__file__).with_name("call.svg")
_HEADERS = _SVG.parent.parent / "xla_ffi_ops/ops"


class CallTest(absltest.TestCase):

  def test_the_picture(self):
    x, scale = np.ones((1024, 512), np.float32), np.ones(512, np.float32)
    lowered = jax.jit(rms_norm).lower(x, scale)
    op, jaxpr, stablehlo, custom_call, handler, kernel = (
        element.text
        for element in ElementTree.parse(_SVG).iter()
        if element.get("class") == "code"
    )
    self.assertEqual(op, "rms_norm(x, scale)")
    self.assertIn(jaxpr, str(jax.make_jaxpr(rms_norm)(x, scale)))
    self.assertIn(stablehlo, lowered.as_text())
    self.assertIn(custom_call, lowered.compile().as_text())
    (library,) = (op.library for op in kit.ops_of(rms_norm))
    self.assertTrue(hasattr(ctypes.CDLL(library), handler))
    namespace, formula = kernel.split("::")
    header = _HEADERS / namespace / f"{namespace}.h"
    self.assertIn(f"struct {formula} ", header.read_text())


if __name__ == "__main__":
  absltest.main()
