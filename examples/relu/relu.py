# SPDX-License-Identifier: Apache-2.0
"""Two primitives with all their rules: relu, and the linear part of its jvp.

Every primitive has four kinds of rules. `impl` runs it outside of jit;
`abstract_eval` says what it returns; a lowering says what it is in StableHLO;
and each transformation has a rule of its own.
"""

import functools
import pathlib

import jax
from jax.extend.core import Primitive
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import ad
from jax.interpreters import batching
from jax.interpreters import mlir
from jax.interpreters import xla
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit

_TARGET = "example_relu_gate"
kit.Library(pathlib.Path(__file__).with_name("librelu_ext.so")).register(
    _TARGET
)


def relu(x: jax.typing.ArrayLike) -> jax.Array:
  """Returns max(x, 0), of which no platform has a handler."""
  return relu_p.bind(jnp.asarray(x))


def gate(x: jax.typing.ArrayLike, t: jax.typing.ArrayLike) -> jax.Array:
  """Returns t where x > 0, else 0; a handler does it for float32 on the CPU."""
  return gate_p.bind(jnp.asarray(x), jnp.asarray(t))


relu_p = Primitive("relu")
relu_p.def_impl(functools.partial(xla.apply_primitive, relu_p))
gate_p = Primitive("relu_gate")
gate_p.def_impl(functools.partial(xla.apply_primitive, gate_p))


# What it returns, and what it refuses. It runs wherever a call is traced.
@relu_p.def_abstract_eval
def _relu_aval(x):
  if not jnp.issubdtype(x.dtype, jnp.floating):
    raise TypeError(f"relu: x must be floating, got {x.dtype}.")
  return x


@gate_p.def_abstract_eval
def _gate_aval(x, t):
  if (x.shape, x.dtype) != (t.shape, t.dtype):
    raise TypeError(f"relu_gate: x and t must be alike, got {x} and {t}.")
  return t


# In StableHLO, for all platforms. A rule returns one value for each result.
def _lower_relu(ctx, x):
  zero = mlir.ir_constant(np.zeros((), ctx.avals_in[0].dtype))
  no_axes = mlir.dense_int_array([])
  return [
      stablehlo.maximum(x, stablehlo.broadcast_in_dim(x.type, zero, no_axes))
  ]


# In jax.numpy, for all platforms; and by a handler where there is one.
_lower_gate = mlir.lower_fun(
    lambda x, t: jnp.where(x > 0, t, 0), multiple_results=False
)


def _lower_gate_for_cpu(ctx, x, t):
  if ctx.avals_in[0].dtype != np.float32:
    return _lower_gate(ctx, x, t)
  return jax.ffi.ffi_lowering(_TARGET)(ctx, x, t)


mlir.register_lowering(relu_p, _lower_relu)
mlir.register_lowering(gate_p, _lower_gate)
mlir.register_lowering(gate_p, _lower_gate_for_cpu, platform="cpu")


# vmap. `axes` says where each operand has the batch, or None.
def _batch_relu(operands, axes):
  return relu_p.bind(*operands), axes[0]


def _batch_gate(operands, axes):
  size = next(x.shape[a] for x, a in zip(operands, axes) if a is not None)
  x, t = (
      batching.bdim_at_front(x, axis, size) for x, axis in zip(operands, axes)
  )
  return gate_p.bind(x, t), 0


batching.primitive_batchers[relu_p] = _batch_relu
batching.primitive_batchers[gate_p] = _batch_gate

# Forward derivatives. That of `gate` in x is zero, and in t it is the same.
ad.defjvp(relu_p, lambda x_dot, x: gate_p.bind(x, x_dot))
ad.defjvp(gate_p, None, lambda t_dot, x, t: gate_p.bind(x, t_dot))


# Backward derivatives need the transposes of what is linear: `gate`, in t.
def _transpose_gate(cotangent, x, t):
  del t  # It stands for the operand whose cotangent is asked for.
  return None, gate_p.bind(x, cotangent)


ad.primitive_transposes[gate_p] = _transpose_gate
