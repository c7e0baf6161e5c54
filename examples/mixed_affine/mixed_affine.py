# SPDX-License-Identifier: Apache-2.0
"""RMSNorm with a weight of another dtype, on two primitives made by hand."""

import functools
import math
import pathlib

import jax
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jax.interpreters import xla
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit

_LIBRARY = kit.Library(
    pathlib.Path(__file__).with_name("libmixed_affine_ext.so")
)
_MAX_PARTS = 64


def forward(
    x: jax.Array, weight: jax.Array, eps: float = 1e-6
) -> tuple[jax.Array, jax.Array]:
  """Returns y and rstd, as the handler does; they have no derivatives.

  Args:
    x: float32 or bfloat16 array of shape [loops..., core...].
    weight: float32 or bfloat16 array of shape [core...], of rank 1 or more.
    eps: at least 0.

  Returns:
    y = x * rstd * weight, of x's shape and the weight's dtype; and
    rstd = 1 / sqrt(mean(x * x) + eps), float32[loops...], with the mean over
    the core.
  """
  y, rstd = forward_p.bind(x, weight, eps=np.float32(eps))
  return y, rstd


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def rms_norm(x: jax.Array, weight: jax.Array, eps: float = 1e-6) -> jax.Array:
  """Returns y of `forward`, with backward derivatives."""
  return forward(x, weight, eps)[0]


def _forward_avals(x, weight, *, eps):
  del eps
  loops = x.ndim - weight.ndim
  if weight.ndim < 1 or loops < 0 or x.shape[loops:] != weight.shape:
    raise TypeError(
        "mixed_affine: weight must have the last dimensions of x, 1 or more,"
        f" got {weight.shape} and {x.shape}."
    )
  return (
      jax.core.ShapedArray(x.shape, weight.dtype),
      jax.core.ShapedArray(x.shape[:loops], jnp.float32),
  )


# The third result is memory for the handler. XLA finds a place for it, plans it
# with all other memory, and reuses it: nobody reads it.
def _backward_avals(dy, x, weight, rstd):
  del dy
  parts = max(1, min(math.prod(rstd.shape), _MAX_PARTS))
  return (
      jax.core.ShapedArray(x.shape, x.dtype),
      jax.core.ShapedArray(weight.shape, weight.dtype),
      jax.core.ShapedArray((parts, *weight.shape), jnp.float32),
  )


def _primitive(target, avals):
  """Makes a primitive of the results of an FFI target."""
  primitive = Primitive(target)
  primitive.multiple_results = True
  primitive.def_impl(functools.partial(xla.apply_primitive, primitive))
  primitive.def_abstract_eval(avals)
  _LIBRARY.register(target)
  for platform in ("cpu", "cuda"):
    mlir.register_lowering(
        primitive, jax.ffi.ffi_lowering(target), platform=platform
    )
  return primitive


forward_p = _primitive("example_mixed_affine_fwd", _forward_avals)
backward_p = _primitive("example_mixed_affine_bwd", _backward_avals)


def _keep(x, weight, eps):
  y, rstd = forward(x, weight, eps)
  return y, (x, weight, rstd)


def _backward(eps, kept, dy):
  del eps
  dx, dweight, _ = backward_p.bind(dy, *kept)
  return dx, dweight


rms_norm.defvjp(_keep, _backward)
