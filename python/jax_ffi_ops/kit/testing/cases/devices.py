# SPDX-License-Identifier: Apache-2.0
"""The devices that the suite spreads programs over.

Those of the default platform if there are enough of them, and 8 CPU devices
else: on a machine with one GPU, what runs on one device runs on it, and what is
split runs on the CPU, with the handlers for that.
"""

import contextlib
import math

import jax
from jax.sharding import AxisType
import numpy as np

COUNT = 8


def force() -> None:
  """Makes JAX have at least 8 CPU devices.

  Raises:
    RuntimeError: it is too late for that, because JAX has been used already.
  """
  try:
    jax.config.update("jax_num_cpu_devices", COUNT)
  except RuntimeError as error:
    found = len(jax.devices("cpu"))
    if found < COUNT:
      raise RuntimeError(
          f"The conformance suite needs {COUNT} CPU devices, but JAX has been"
          f" used already and started with {found}: import"
          " jax_ffi_ops.kit.testing first (with pytest, in conftest.py), or set"
          f" JAX_NUM_CPU_DEVICES={COUNT}."
      ) from error


def some(count: int) -> list[jax.Device]:
  """Returns so many devices."""
  devices = jax.devices()
  return (devices if count <= len(devices) else jax.devices("cpu"))[:count]


def on_cpu() -> contextlib.AbstractContextManager:
  """Makes a CPU device the default: for definitions, whatever is tested."""
  return jax.default_device(jax.devices("cpu")[0])


def mesh(axis_type: AxisType = AxisType.Auto, **axes: int) -> jax.sharding.Mesh:
  """Returns a mesh with these axes."""
  devices = np.array(some(math.prod(axes.values()))).reshape(*axes.values())
  return jax.sharding.Mesh(
      devices, tuple(axes), axis_types=(axis_type,) * len(axes)
  )
