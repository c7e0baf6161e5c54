# SPDX-License-Identifier: Apache-2.0
"""x * x, by one target for all platforms or by one for each."""

import functools
import pathlib

import jax
import numpy as np

from jax_ffi_ops import kit

LIBRARY = kit.Library(pathlib.Path(__file__).with_name("libplatforms_ext.so"))

_call = functools.partial(
    kit.call,
    library=LIBRARY,
    results=lambda x, **_: jax.ShapeDtypeStruct(x.shape, x.dtype),
)

# A program has the name alone. XLA looks for the handler that is registered by
# this name for the platform that it compiles for.
square = _call("example_square")

_square_tuned = _call("example_square_tuned", attributes={"threads": np.int64})


def square_by_platform(x: jax.Array) -> jax.Array:
  """Returns x * x: by a target on CPU and CUDA, in jax.numpy elsewhere.

  Needed where the calls differ: here in an attribute.

  Args:
    x: float32 array.
  """
  return jax.lax.platform_dependent(
      x,
      cpu=square,
      cuda=functools.partial(_square_tuned, threads=128),
      default=lambda x: x * x,
  )
