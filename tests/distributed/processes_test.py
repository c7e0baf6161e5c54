# SPDX-License-Identifier: Apache-2.0
"""Training in two processes is training in one: docs/distributed.md."""

import json
import os
import pathlib
import socket
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

_PROGRAM = pathlib.Path(__file__).with_name("train.py")
_SECONDS = 120


class ProcessesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._environment = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": self.create_tempdir().full_path,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "JAX_PLATFORMS": "cpu",
        "JAX_REMOVE_CUSTOM_PARTITIONING_PTR_FROM_CACHE_KEY": "true",
        "PYTHONPATH": os.pathsep.join(sys.path),
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
      address = (f"localhost:{_free_port()}", len(devices))
    for index, count in enumerate(devices):
      flags = f"--xla_force_host_platform_device_count={count}"
      arguments = (mesh, *address, index) if address else (mesh,)
      process = subprocess.Popen(
          [sys.executable, _PROGRAM, *map(str, arguments)],
          env=self._environment | {"XLA_FLAGS": flags},
          stdout=subprocess.PIPE,
          stderr=subprocess.PIPE,
          text=True,
      )
      self.addCleanup(process.kill)
      processes.append(process)
    told = [process.communicate(timeout=_SECONDS) for process in processes]
    for process, (_, errors) in zip(processes, told):
      self.assertEqual(process.returncode, 0, errors)
    return [json.loads(output.splitlines()[-1]) for output, _ in told]


def _free_port():
  with socket.socket() as own:
    own.bind(("localhost", 0))
    return own.getsockname()[1]


if __name__ == "__main__":
  absltest.main()
