# SPDX-License-Identifier: Apache-2.0
"""What kit_process_test.py runs in processes of their own."""

import functools
import json
import pathlib

import jax
from jax import export
from jax import monitoring
from jax.sharding import AxisType
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
import numpy as np

import jax_ffi_ops
from jax_ffi_ops.kit.testing.cases import devices

# A GPU is for one process; and its sums are others in their last bits.
jax.config.update("jax_platforms", "cpu")


def operands(seed: int = 0) -> list[np.ndarray]:
  """Returns x, scale and a cotangent."""
  rng = np.random.default_rng(seed)
  shapes = ((8, 6, 16), (16,), (8, 6, 16))
  return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def value_and_gradients(x, scale, dy, eps=1e-6):
  norm = functools.partial(jax_ffi_ops.rms_norm, eps=eps)
  y, vjp = jax.vjp(norm, x, scale)
  return y, *vjp(dy)


def distributed(address: str, process: int) -> None:
  """Computes on 2 of 4 devices, and compares with one device."""
  jax.config.update("jax_num_cpu_devices", 2)
  jax.config.update("jax_cpu_collectives_implementation", "gloo")
  jax.distributed.initialize(address, 2, process)
  assert jax.device_count() == 4 and jax.local_device_count() == 2
  mesh = devices.mesh(a=4)
  split = NamedSharding(mesh, P("a"))
  whole = NamedSharding(mesh, P())
  arrays = operands()
  placed = [
      jax.make_array_from_callback(
          x.shape, split if x.ndim == 3 else whole, lambda index, x=x: x[index]
      )
      for x in arrays
  ]
  expected = jax.jit(value_and_gradients)(*arrays)
  actual = jax.jit(value_and_gradients)(*placed)
  for got, want in zip(actual, expected, strict=True):
    assert len(got.addressable_shards) == 2
    for shard in got.addressable_shards:
      # The gradient of scale is added up in another order.
      np.testing.assert_allclose(
          shard.data, np.asarray(want)[shard.index], rtol=1e-5, atol=1e-5
      )


def call_exported(folder: str) -> None:
  """Calls what was exported to a folder; saves results and gradients."""
  jax_ffi_ops.load()  # Nothing here uses the op by its name.
  jax.config.update("jax_num_cpu_devices", 4)
  x, scale, dy = operands()
  for file in pathlib.Path(folder).glob("*.exported"):
    called = export.deserialize(bytearray(file.read_bytes())).call
    if file.stem == "sharded":
      split = NamedSharding(devices.mesh(a=4), P("a"))
      x = jax.device_put(x, split)
      program = jax.jit(called).lower(x).compile()
      assert "all-gather" not in program.as_text()
      results = [program(x)]
    else:
      y, vjp = jax.vjp(called, x, scale)
      results = [y, *vjp(dy)]
    np.savez(file.with_suffix(".npz"), *results)


def compile_with_cache(folder: str, strip: bool) -> None:
  """Compiles programs with the persistent cache; prints which were in it."""
  jax.config.update("jax_num_cpu_devices", 4)
  jax.config.update("jax_compilation_cache_dir", folder)
  jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
  jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
  jax.config.update("jax_remove_custom_partitioning_ptr_from_cache_key", strip)
  hits = []
  monitoring.register_event_listener(
      lambda event, **_: hits.append(event.endswith("/cache_hits"))
  )
  arrays = operands()
  placed = {"one device": arrays}
  for kind in (AxisType.Auto, AxisType.Explicit):
    split = NamedSharding(devices.mesh(kind, a=4), P("a"))
    placed[f"{kind.name} axes"] = [
        jax.device_put(x, split) if x.ndim == 3 else x for x in arrays
    ]
  found = {}
  for name, args in placed.items():
    for eps in (0.0, 0.5):
      hits.clear()

      def program(*args, eps=eps):
        return value_and_gradients(*args, eps=eps)

      results = jax.jit(program)(*args)
      found[f"{name}, eps={eps}"] = any(hits)
      expected = value_and_gradients(*arrays, eps=eps)
      for got, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
  print(json.dumps(found))
