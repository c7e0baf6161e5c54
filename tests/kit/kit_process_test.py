# SPDX-License-Identifier: Apache-2.0
"""Several processes: distributed arrays, exported programs, the disk cache."""

import json
import pathlib
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import export
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
import kit_process_worker as worker
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import rms_norm
from jax_ffi_ops.kit.testing.cases import devices
import python_process


def _start(function, *args):
  """Starts a process that calls a function of the worker."""
  program = f"import kit_process_worker as w; w.{function}{args!r}"
  return python_process.start("-c", program)


class KitProcessTest(parameterized.TestCase):

  def wait(self, *processes):
    return python_process.outputs(self, processes, seconds=100)

  def test_two_processes_with_two_devices_each(self):
    address = python_process.free_address()
    self.wait(*(_start("distributed", address, i) for i in range(2)))

  def test_exported_programs_in_another_process(self):
    folder = pathlib.Path(self.enter_context(tempfile.TemporaryDirectory()))
    x, scale, _ = arrays = worker.operands()
    checks = kit.export_checks(rms_norm)
    (rows,) = export.symbolic_shape("rows")
    symbolic = jax.ShapeDtypeStruct((rows, 6, 16), np.float32)
    exports = {
        "plain": (("cpu",), (x, scale)),
        "symbolic": (("cpu",), (symbolic, scale)),
        "all_platforms": (("cpu", "cuda", "tpu"), (symbolic, scale)),
    }
    for name, (platforms, args) in exports.items():
      exported = export.export(
          jax.jit(rms_norm), platforms=platforms, disabled_checks=checks
      )(*args)
      data = exported.serialize(vjp_order=1)
      (folder / f"{name}.exported").write_bytes(data)
    mesh = devices.mesh(a=4)
    split = NamedSharding(mesh, P("a"))
    exported = export.export(
        jax.jit(rms_norm, in_shardings=split), disabled_checks=checks
    )(x)
    (folder / "sharded.exported").write_bytes(exported.serialize())

    self.wait(_start("call_exported", str(folder)))
    expected = worker.value_and_gradients(*arrays)
    for name in exports:
      for got, want in zip(np.load(folder / f"{name}.npz").values(), expected):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
    (got,) = np.load(folder / "sharded.npz").values()
    np.testing.assert_allclose(got, rms_norm(x), rtol=1e-6, atol=1e-6)

  @parameterized.parameters(False, True)
  def test_persistent_cache(self, strip):
    """All hits, but on automatic axes only if jax strips a pointer."""
    folder = self.enter_context(tempfile.TemporaryDirectory())
    first, second = (
        json.loads(self.wait(_start("compile_with_cache", folder, strip))[0])
        for _ in range(2)
    )
    self.assertFalse(any(first.values()), first)
    for program, hit in second.items():
      # With the pointer of a callback in its key, a hit would be chance.
      if strip or not program.startswith("Auto"):
        self.assertTrue(hit, program)


if __name__ == "__main__":
  absltest.main()
