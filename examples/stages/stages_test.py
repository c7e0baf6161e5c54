# SPDX-License-Identifier: Apache-2.0
"""Which stages the CPU has; frames_test.cc calls all of them."""

import ctypes
import os

from absl.testing import absltest
import jax
import numpy as np
from stages import counts
from stages import LIBRARY
from stages import PLATFORMS
from stages import scale
from stages import STAGES
from stages import where

from jax_ffi_ops.kit.load import abi

_X = np.arange(5, dtype=np.float32)


def _compile(factor):
  return jax.jit(lambda x: scale(x, factor)).lower(_X).compile()


class StagesTest(absltest.TestCase):

  def _assert_counted(self, before, instantiate, execute):
    expected = dict(
        instantiate=instantiate, prepare=0, initialize=0, execute=execute
    )
    found = {stage: n - before[stage] for stage, n in counts().items()}
    self.assertEqual(found, expected)

  def test_the_cpu_has_two_stages(self):
    before = counts()
    program = _compile(2.5)
    self._assert_counted(before, 1, 0)
    for _ in range(3):
      np.testing.assert_array_equal(program(_X), 2.5 * _X)
    self._assert_counted(before, 1, 3)

  def test_one_state_for_all_devices(self):
    mesh = jax.sharding.Mesh(jax.devices(), "i")
    spec = jax.sharding.PartitionSpec("i")
    split = jax.shard_map(
        lambda x: scale(x, 3), mesh=mesh, in_specs=spec, out_specs=spec
    )
    before = counts()
    np.testing.assert_array_equal(jax.jit(split)(np.ones(8, np.float32)), 3)
    self._assert_counted(before, 1, 4)

  def test_an_error_of_the_first_stage(self):
    """The program does not compile."""
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "factor must be finite, got inf"
    ):
      _compile(np.inf)

  def test_an_error_of_the_last_stage(self):
    _compile(1)  # Registers the target.
    call = jax.ffi.ffi_call(
        "example_stages", jax.ShapeDtypeStruct((4,), np.float32)
    )
    with self.assertRaisesRegex(
        jax.errors.JaxRuntimeError, "y must have 5 elements, as x, got 4"
    ):
      call(_X, factor=np.float32(1)).block_until_ready()

  def test_run_and_device(self):
    """A run has one number on all devices, and the next one has another."""
    mesh = jax.sharding.Mesh(jax.devices(), "i")
    program = jax.jit(
        jax.shard_map(
            lambda: [x[None] for x in where()],
            mesh=mesh,
            in_specs=(),
            out_specs=jax.sharding.PartitionSpec("i"),
        )
    )
    with jax.enable_x64(True):
      (first, devices), (second, _) = program(), program()
    np.testing.assert_array_equal(devices, range(4))
    self.assertLen(set(first.tolist()), 1)
    self.assertLen(set(first.tolist() + second.tolist()), 2)

  def test_what_is_built_for_cuda(self):
    """With --config=cuda: all stages, and the last one may be recorded."""
    self.assertEqual("cuda" in PLATFORMS, "CUDA" in os.environ)
    handlers = ctypes.CDLL(LIBRARY)
    for device in PLATFORMS:
      for stage in STAGES:
        found = abi.read_metadata(handlers[f"example_stages_{stage}_{device}"])
        self.assertEqual(
            found.command_buffer_compatible,
            (device, stage) == ("cuda", "execute"),
        )


if __name__ == "__main__":
  jax.config.update("jax_num_cpu_devices", 4)
  absltest.main()
