# SPDX-License-Identifier: Apache-2.0
"""Training in two processes is training in one: docs/distributed.md."""

import json
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

import python_process

_PROGRAM = pathlib.Path(__file__).with_name("train.py")
_SECONDS = 120


class ProcessesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._environment = {
        "JAX_COMPILATION_CACHE_DIR": self.create_tempdir().full_path,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "JAX_PLATFORMS": "cpu",
        "JAX_REMOVE_CUSTOM_PARTITIONING_PTR_FROM_CACHE_KEY": "true",
    }

  @parameterized.named_parameters(
      ("data", "4x1"), ("tensor", "1x4"), ("both", "2x2")
  )
  def test_parallelism(self, mesh):
    """Of data, of tensors, and of both: the losses are those of one process."""
    (alone,) = self._train("1x1", devices=[1])
    for is_cached in (False, True):
      first, second = self._train(mesh, devices=[2, 2])
      self.assertEqual(first["losses"], second["losses"])
      # Sums of a few hundred numbers in another order.
      np.testing.assert_allclose(first["losses"], alone["losses"], rtol=2e-6)
      # On CPUs jax gives each process a key of its own, and the first writes.
      self.assertEqual(first["hits"], int(is_cached))
    self.assertLess(alone["losses"][-1], 0.9 * alone["losses"][0])

  def _train(self, mesh, devices):
    """Returns what each process prints; there is one per number of devices."""
    processes = []
    address = ()
    if len(devices) > 1:
      address = (python_process.free_address(), len(devices))
    for index, count in enumerate(devices):
      flags = f"--xla_force_host_platform_device_count={count}"
      arguments = (mesh, *address, index) if address else (mesh,)
      processes.append(
          python_process.start(
              _PROGRAM, *arguments, XLA_FLAGS=flags, **self._environment
          )
      )
    outputs = python_process.outputs(self, processes, _SECONDS)
    return [json.loads(output.splitlines()[-1]) for output in outputs]


if __name__ == "__main__":
  absltest.main()
