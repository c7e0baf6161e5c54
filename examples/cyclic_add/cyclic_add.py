# SPDX-License-Identifier: Apache-2.0
"""out[i] = a[i % n] + b[i], called from JAX and from a program made by hand."""

import pathlib

import jax
from jax.extend import backend
from jaxlib import xla_client
import numpy as np

from jax_ffi_ops import kit

# out = cyclic_add(a, b), as any compiler could write it. Version 4 of the
# custom call's API is the typed FFI.
PROGRAM = """
module {{
  func.func public @main(%a: {a}, %b: {b}) -> {out} {{
    %out = stablehlo.custom_call @example_cyclic_add(%a, %b)
        {{api_version = 4 : i32, backend_config = {{}}}} : ({a}, {b}) -> {out}
    return %out : {out}
  }}
}}
"""

# Registers the handler, for CUDA too if the library was built for it.
_call = kit.call(
    "example_cyclic_add",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libcyclic_add_ext.so")
    ),
    results=lambda a, b: jax.ShapeDtypeStruct(b.shape, np.float32),
)


def cyclic_add(a: jax.Array, b: jax.Array) -> jax.Array:
  """Adds the elements of `a`, again and again, to those of `b`.

  Args:
    a: float32 array of shape [n], n >= 1.
    b: float32 array of shape [size].

  Returns:
    A float32 array of shape [size].

  Raises:
    jax.errors.JaxRuntimeError: the arrays have another dtype, rank or size.
  """
  return _call(a, b)


def run(program: str, *arrays: np.ndarray) -> np.ndarray:
  """Compiles a StableHLO module for the CPU, without JAX, and runs it."""
  client = backend.get_backend("cpu")
  devices = client.devices()[:1]
  executable = client.compile_and_load(
      program,
      xla_client.DeviceList(tuple(devices)),
      xla_client.CompileOptions(),
  )
  operands = [jax.device_put(x, devices[0]) for x in arrays]
  results = executable.execute_sharded(operands)
  ((out,),) = results.disassemble_into_single_device_arrays()
  return np.asarray(out)
