# SPDX-License-Identifier: Apache-2.0
"""The CPU devices that the suite spreads programs over."""

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


def mesh(axis_type: AxisType = AxisType.Auto, **axes: int) -> jax.sharding.Mesh:
  """Returns a mesh of CPU devices with these axes."""
  count = math.prod(axes.values())
  devices = np.array(jax.devices("cpu")[:count]).reshape(*axes.values())
  return jax.sharding.Mesh(
      devices, tuple(axes), axis_types=(axis_type,) * len(axes)
  )
