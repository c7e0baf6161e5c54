# SPDX-License-Identifier: Apache-2.0
"""Calls at the same time: from threads, and on several streams."""

from concurrent import futures

from absl.testing import absltest
from absl.testing import parameterized
from gpu_test_case import GpuTestCase
from gpu_test_case import has_gpu
import jax
from jax.experimental.compute_on import compute_on
import jax.numpy as jnp
import numpy as np
from rms_norm_oracle import normal

from jax_ffi_ops import rms_norm

_SHAPES = ((8, 4), (4096, 512), (777, 4097), (64, 65536), (5, 262_144))
_TURNS = 20 if has_gpu() else 3


def _run(x, scale, dy):
  y, pull_back = jax.vjp(rms_norm, x, scale)
  return y, *pull_back(dy)


def _operands(shape, dtype):
  x, dy = (jnp.asarray(normal(shape, dtype, seed)) for seed in range(2))
  return x, jnp.asarray(normal(shape[-1:], dtype, 2)), dy


def _bytes(arrays):
  return [np.asarray(array).tobytes() for array in arrays]


class StreamsTest(GpuTestCase):

  @parameterized.product(shape=_SHAPES, dtype=("bfloat16", "float32"))
  def test_the_same_bits_in_each_run(self, shape, dtype):
    operands = _operands(shape, dtype)
    program = jax.jit(_run)
    first = _bytes(program(*operands))
    for _ in range(_TURNS):
      self.assertEqual(first, _bytes(program(*operands)))

  def test_threads(self):
    operands = [_operands(shape, "float32") for shape in _SHAPES]
    program = jax.jit(_run)
    expected = [_bytes(program(*args)) for args in operands]

    def work(thread):
      own = jax.jit(lambda *args: _run(*args))
      for turn in range(_TURNS):
        i = (thread + turn) % len(operands)
        for function in (program, own):
          if _bytes(function(*operands[i])) != expected[i]:
            return f"thread {thread}, turn {turn}: other bits"
      return None

    with futures.ThreadPoolExecutor(8) as pool:
      self.assertEqual(list(pool.map(work, range(8))), [None] * 8)

  def test_many_in_flight(self):
    """Nothing is waited for until all calls were made."""
    operands = _operands((777, 4097), "bfloat16")
    program = jax.jit(_run)
    expected = _bytes(program(*operands))
    results = [program(*operands) for _ in range(_TURNS)]
    for result in results:
      self.assertEqual(expected, _bytes(result))

  def test_streams_in_a_program(self):
    self.need_gpu()
    operands = [_operands((4096, 1024), "float32") for _ in range(3)]
    expected = [_bytes(jax.jit(_run)(*args)) for args in operands]
    on_streams = [
        compute_on(f"gpu_stream:{1 + i}")(jax.jit(_run)) for i in range(3)
    ]

    @jax.jit
    def together(operands):
      return [run(*args) for run, args in zip(on_streams, operands)]

    for _ in range(_TURNS):
      self.assertEqual(expected, list(map(_bytes, together(operands))))

  def test_streams_of_torch(self):
    """Another library's work beside ours changes nothing."""
    self.need_gpu()
    try:
      import torch
    except ImportError:
      self.skipTest("needs torch")
    operands = _operands((4096, 1024), "float32")
    program = jax.jit(_run)
    expected = _bytes(program(*operands))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
      a = torch.randn(4096, 4096, device="cuda")
      for _ in range(_TURNS):
        a = (a @ a).clamp(-1, 1)
        self.assertEqual(expected, _bytes(program(*operands)))


if __name__ == "__main__":
  absltest.main()
