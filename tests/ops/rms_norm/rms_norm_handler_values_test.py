# SPDX-License-Identifier: Apache-2.0
"""Right calls of the FFI targets of rms_norm, in every form of broadcasting."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
import jax
import numpy as np
from rms_norm_handlers import Handlers
from rms_norm_handlers import rstd_of
from rms_norm_oracle import normal

import jax_ffi_ops as _  # noqa: F401

jax.config.update("jax_enable_x64", True)

_DTYPES = ("float16", "bfloat16", "float32", "float64")

# What an operand may have of the loop dimensions 3 and 4.
_FORMS = ((), (1, 1), (3, 1), (1, 4), (3, 4))
# What a scale may have of them, with `batch_rank`: those, or the first few.
_SCALE_FORMS = (
    *((0, form) for form in _FORMS),
    *((1, form) for form in ((1,), (3,), *_FORMS)),
    *((2, form) for form in _FORMS),
)


_HANDLERS = Handlers()


class RmsNormHandlerValuesTest(parameterized.TestCase):

  @parameterized.product(x=_FORMS, scale=(None, *_FORMS))
  def test_forward(self, x, scale):
    scales = () if scale is None else (normal((*scale, 5), "float32", 1),)
    _HANDLERS.check_forward(normal((*x, 5), "float32"), *scales)

  @parameterized.parameters(*itertools.product(_FORMS, repeat=3))
  def test_unscaled_backward(self, x, rstd, dy):
    for batch_rank in range(max(map(len, (x, rstd, dy))) + 1):
      _HANDLERS.check_backward(
          normal((*x, 5), "float32"),
          rstd=rstd_of(rstd),
          dy=normal((*dy, 5), "float32", 2),
          batch_rank=batch_rank,
      )

  @parameterized.product(
      x=_FORMS, rstd=((), (3, 4)), dy=((1, 4), (3, 1)), scale=_SCALE_FORMS
  )
  def test_backward(self, x, rstd, dy, scale):
    batch_rank, form = scale
    _HANDLERS.check_backward(
        normal((*x, 5), "float32"),
        normal((*form, 5), "float32", 1),
        rstd=rstd_of(rstd),
        dy=normal((*dy, 5), "float32", 2),
        batch_rank=batch_rank,
    )

  @parameterized.parameters(*_FORMS)
  def test_only_scale_has_loops(self, *form):
    x, dy = (normal((5,), "float32", seed) for seed in range(2))
    scale = normal((*form, 5), "float32", 1)
    _HANDLERS.check_backward(x, scale, rstd=rstd_of(()), dy=dy)

  @parameterized.parameters(*itertools.product(_DTYPES, (None, *_DTYPES)))
  def test_dtypes(self, dtype, scale_dtype):
    x, dy = (normal((3, 300, 17), dtype, seed) for seed in range(2))
    scales = [] if scale_dtype is None else [normal((3, 17), scale_dtype, 2)]
    _HANDLERS.check_forward(x, *(scale[:, None] for scale in scales))
    rstd = rstd_of((3, 300), dtype)
    _HANDLERS.check_backward(x, *scales, rstd=rstd, dy=dy, batch_rank=1)

  # Neighbouring dimensions are merged if an operand has both or neither.
  @parameterized.parameters(*range(60))
  def test_any_broadcast(self, seed):
    rng = np.random.default_rng(seed)
    loops = rng.choice((1, 2, 3, 5), rng.integers(1, 7))
    batch_rank = int(rng.integers(len(loops) + 1))

    def form(size):
      return tuple(np.where(rng.random(size) < 0.5, loops[:size], 1))

    cols = int(rng.integers(1, 9))
    _HANDLERS.check_backward(
        normal((*form(len(loops)), cols), "float32", 1),
        normal((*form(rng.choice((0, batch_rank))), cols), "float32", 2),
        rstd=rstd_of(form(len(loops))),
        dy=normal((*form(len(loops)), cols), "float32", 3),
        batch_rank=batch_rank,
    )

  @parameterized.parameters(*range(3))
  def test_eight_separate_broadcasts(self, which):
    loops = [(2,) * 8] * 3
    loops[which] = (2, 1) * 4
    x, dy, rstd = loops
    _HANDLERS.check_backward(
        normal((*x, 3), "float32"),
        rstd=rstd_of(rstd),
        dy=normal((*dy, 3), "float32", 1),
    )

  # More than one thread: 128 KiB each.
  @parameterized.parameters((4096, 1), (1, 4096), (512, 8), (100, 50))
  def test_many_rows(self, *loops):
    x, dy = (normal((*loops, 33), "float32", seed) for seed in range(2))
    scale = normal((*loops, 33), "float32", 2)
    rstd = rstd_of(loops)
    _HANDLERS.check_forward(x[:, :1], scale)
    _HANDLERS.check_backward(x, scale, rstd=rstd, dy=dy)
    _HANDLERS.check_backward(x, scale[0, 0], rstd=rstd, dy=dy)
    _HANDLERS.check_backward(
        x[:1], scale[:, 0], rstd=rstd, dy=dy[:, :1], batch_rank=1
    )

  @parameterized.parameters((0,), (3, 0), (0, 3), (2, 0, 3))
  def test_empty(self, *loops):
    for batch_rank in range(len(loops) + 1):
      x = np.zeros((*loops, 5), np.float32)
      scale = np.ones((*loops[:batch_rank], 5), np.float32)
      rstd = np.ones(loops, np.float32)
      _HANDLERS.check_backward(x, scale, rstd=rstd, dy=x, batch_rank=batch_rank)
    x, scale, rstd = np.zeros((3, 4, 0)), np.zeros(0), np.ones((3, 4))
    _HANDLERS.check_backward(x, scale, rstd=rstd, dy=x)


if __name__ == "__main__":
  absltest.main()
