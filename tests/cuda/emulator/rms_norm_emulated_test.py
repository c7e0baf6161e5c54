# SPDX-License-Identifier: Apache-2.0
"""The CUDA kernels of rms_norm compute what they should, on emulated devices.

What this cannot show, a GPU has to: PTX, and the device's memory model.
"""

import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np
from rms_norm_handlers import Handlers
from rms_norm_handlers import rstd_of
import rms_norm_oracle as oracle
from rms_norm_oracle import normal

from jax_ffi_ops import kit
from jax_ffi_ops.kit.op import find

jax.config.update("jax_enable_x64", True)

_LIBRARY = kit.Library(os.environ["EMULATED"])
_PREFIX = "emulated_xla_ffi_ops_rms_norm_"

# Indexes of emulated devices, by what is special about them.
_DEVICES = {"no_clusters": 0, "clusters_of_16": 1, "many_multiprocessors": 2}

_DTYPES = ("float16", "bfloat16", "float32", "float64")
_COLS = (
    *(1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 64, 100, 127, 128, 256, 257),
    *(512, 1000, 1024, 2047, 2048, 4096, 5120, 8192, 8200, 12289),
)


def _workspace(target, operands, results, parts=None):
  """Returns what Handlers asks for: with the op's parts, or so many."""
  if target != _PREFIX + "bwd":
    return []
  declaration = find("xla_ffi_ops_rms_norm").declaration
  workspace = declaration.workspace(operands, results)
  *groups, own_parts, cols = workspace.shape
  shape = (*groups, own_parts if parts is None else parts, cols)
  return [jax.ShapeDtypeStruct(shape, workspace.dtype)]


def _emulate(device):
  os.environ["EMULATED_DEVICE"] = str(_DEVICES[device])


def setUpModule():
  for name in ("fwd", "bwd", "unscaled_fwd", "unscaled_bwd"):
    _LIBRARY.register(_PREFIX + name)
    _LIBRARY.ensure_registered(_PREFIX + name)


class RmsNormEmulatedTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(mock.patch.object(oracle, "on_gpu", return_value=True))
    self.handlers = Handlers(_PREFIX, _workspace)
    _emulate("no_clusters")

  def check(self, x, scale, dy):
    """Checks calls with and without scale."""
    rstd = rstd_of(x.shape[:-1], x.dtype)
    for scales in ((), (scale,)):
      self.handlers.check_forward(x, *scales)
      self.handlers.check_backward(x, *scales, rstd=rstd, dy=dy)

  @parameterized.product(cols=_COLS, dtype=_DTYPES)
  def test_columns(self, cols, dtype):
    for rows in (1, 5, 40) if cols <= 1024 else (1, 5):
      x, dy = (normal((rows, cols), dtype, seed) for seed in range(2))
      self.check(x, normal((cols,), dtype, 2), dy)

  @parameterized.product(
      cols=(16385, 32768, 65544, 262144, 300007),
      dtype=("bfloat16", "float32"),
      device=tuple(_DEVICES),
  )
  def test_wide_columns(self, cols, dtype, device):
    _emulate(device)
    x, dy = (normal((2, cols), dtype, seed) for seed in range(2))
    self.check(x, normal((cols,), dtype, 2), dy)

  @parameterized.product(dtype=_DTYPES, scale_dtype=_DTYPES)
  def test_dtypes(self, dtype, scale_dtype):
    for cols in (17, 64):
      x, dy = (normal((40, cols), dtype, seed) for seed in range(2))
      self.check(x, normal((cols,), scale_dtype, 2), dy)

  @parameterized.product(
      rows=(1, 7, 200),
      cols=(8, 33, 2048),
      parts=(1, 2, 5, 300),
      device=("no_clusters", "many_multiprocessors"),
  )
  def test_parts(self, rows, cols, parts, device):
    _emulate(device)
    self.handlers.workspaces = lambda *args: _workspace(*args, parts=parts)
    x, dy = (normal((rows, cols), "float32", seed) for seed in range(2))
    scale = normal((cols,), "float32", 2)
    rstd = rstd_of((rows,))
    self.handlers.check_backward(x, scale, rstd=rstd, dy=dy)

  @parameterized.parameters(*range(60))
  def test_any_broadcast(self, seed):
    rng = np.random.default_rng(seed)
    loops = rng.choice((1, 2, 3, 5), rng.integers(1, 5))
    batch_rank = int(rng.integers(len(loops) + 1))
    cols = int(rng.choice((1, 7, 64, 136)))

    def form(size):
      return tuple(np.where(rng.random(size) < 0.5, loops[:size], 1))

    x = normal((*form(len(loops)), cols), "float32", 1)
    scale_rank = rng.choice((0, batch_rank))
    scale = normal((*form(scale_rank), cols), "float32", 2)
    rstd = rstd_of(form(len(loops)))
    dy = normal((*form(len(loops)), cols), "float32", 3)
    for scales in ((), (scale,)):
      self.handlers.check_backward(
          x, *scales, rstd=rstd, dy=dy, batch_rank=batch_rank
      )
    self.handlers.check_forward(
        x, normal((*form(len(loops)), cols), "float32", 4)
    )

  @parameterized.parameters((0,), (3, 0), (0, 3), (2, 0, 3))
  def test_empty(self, *loops):
    for batch_rank in range(len(loops) + 1):
      x = np.zeros((*loops, 8), np.float32)
      scale = np.ones((*loops[:batch_rank], 8), np.float32)
      rstd = np.ones(loops, np.float32)
      self.handlers.check_backward(
          x, scale, rstd=rstd, dy=x, batch_rank=batch_rank
      )
    self.check(np.zeros((3, 4, 0)), np.zeros(0), np.zeros((3, 4, 0)))

  @parameterized.product(cols=(4, 33, 1024, 16385), dtype=_DTYPES)
  def test_rows_that_are_not_finite(self, cols, dtype):
    x = normal((9, cols), dtype)
    x[1, 0] = x[3, -1] = x[5, cols // 2] = np.nan
    x[2, -1] = x[5, 0] = np.inf
    x[7] = 0
    self.handlers.check_forward(x, normal((cols,), dtype, 1))

  @parameterized.product(cols=(8, 33, 4096, 65536), device=tuple(_DEVICES))
  def test_same_bits_in_any_order_of_threads(self, cols, device):
    _emulate(device)
    x, dy = (normal((30, cols), "float32", seed) for seed in range(2))
    operands = (x, dy[0], rstd_of((30,)), dy)
    results = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in (x, dy[0])]
    target = _PREFIX + "bwd"
    call = jax.ffi.ffi_call(
        target, [*results, *_workspace(target, operands, results, parts=4)]
    )
    attributes = {"eps": np.float64(1e-6), "batch_rank": np.int64(0)}
    first, *others = (call(*operands, **attributes)[:2] for _ in range(3))
    for other in others:
      jax.tree.map(np.testing.assert_array_equal, other, first)

  @parameterized.parameters(
      ([], "be the last result, got none"),
      ([((0, 8), "float32")], "have at least one part, got 0"),
      ([((), "float32")], r"have shape \[\?, 8\], got \[\]"),
      ([((8,), "float32")], r"have shape \[\?, 8\], got \[8\]"),
      ([((2, 7), "float32")], r"have shape \[2, 8\], got \[2, 7\]"),
      ([((1, 2, 8), "float32")], r"have shape \[\?, 8\], got \[1, 2, 8\]"),
      ([((2, 8), "float64")], "have dtype float32, got float64"),
  )
  def test_wrong_workspace(self, workspaces, message):
    self.handlers.workspaces = lambda *_: [
        jax.ShapeDtypeStruct(*workspace) for workspace in workspaces
    ]
    x = np.ones((5, 8), np.float32)
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, f"norm_bwd: workspace must {message}"
    ):
      self.handlers.check_backward(x, x[0], rstd=rstd_of((5,)), dy=x)


if __name__ == "__main__":
  absltest.main()
