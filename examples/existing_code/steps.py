# SPDX-License-Identifier: Apache-2.0
"""An existing handler on its way to an op. Each step works without the next."""

import ctypes
import pathlib

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit

_HERE = pathlib.Path(__file__).parent


def _old_call(target, x, rate):
  call = jax.ffi.ffi_call(
      target,
      jax.ShapeDtypeStruct(x.shape, x.dtype),
      vmap_method="broadcast_all",
  )
  return call(x, rate)


# 1. The old Python on an object that Bazel builds: nothing has changed.
_object = ctypes.CDLL(str(_HERE / "libdecay.so"))
jax.ffi.register_ffi_target(
    "example_decay_1", jax.ffi.pycapsule(_object.DecayHandler), platform="cpu"
)


def step1(x: jax.Array, rate: jax.Array) -> jax.Array:
  """Returns exp(-rate x) for float32 arrays of one shape."""
  return _old_call("example_decay_1", x, rate)


# 2. The kit loads the object: it checks the version of FFI's API and that no
#    other library has the name.
_symbols = kit.Library(_HERE / "libsymbols_ext.so")
_symbols.register("example_decay_2")


def step2(x: jax.Array, rate: jax.Array) -> jax.Array:
  """The same."""
  return _old_call("example_decay_2", x, rate)


# 3. A declaration: derivatives, vmap, sharding and export. The handler wants all
#    operands in one shape: without `broadcast_operands` it would refuse a rate
#    that rows share. One that checks less would read what is not its own.
step3 = kit.op(
    "example_decay_3",
    library=_symbols,
    signature="(),()->()",
    reference=lambda x, rate: jnp.exp(-rate * x),
    dtypes=("float32",),
    buffers=kit.Buffers(broadcast_operands=True),
)

# 4. The kit's macro: no copies of shared operands, threads, better errors.
_kit = kit.Library(_HERE / "libkit_ext.so")
step4 = kit.op(
    "example_decay_4",
    library=_kit,
    signature="(),()->()",
    reference=lambda x, rate: jnp.exp(-rate * x),
    dtypes=("float32",),
)

# 5. A backward handler, which gets y: it computes no exponential.
step5 = kit.op(
    "example_decay_5",
    library=_kit,
    signature="(),()->()",
    outputs=("y",),
    reference=lambda x, rate: jnp.exp(-rate * x),
    derivatives=kit.Derivatives(
        residuals=("y",),
        backward=lambda x, rate, y, dy: (-rate * y * dy, -x * y * dy),
    ),
    dtypes=("float32",),
)
