# SPDX-License-Identifier: Apache-2.0
"""For a type checker, which `.ci/wheels.py` runs: this is right."""

import jax
import jax.numpy as jnp
from softcap import softcap

import jax_ffi_ops
from jax_ffi_ops import add_rms_norm
from jax_ffi_ops import kit
from jax_ffi_ops import rms_norm


def normalized(x: jax.Array, scale: jax.Array | None) -> jax.Array:
  return softcap(rms_norm(x, scale, eps=1e-5), cap=20.0)


def added(x: jax.Array) -> tuple[jax.Array, jax.Array]:
  return add_rms_norm(x, x)


def checks() -> list[object]:
  jax_ffi_ops.load()
  return list(kit.export_checks(rms_norm))


def declared(library: kit.Library) -> kit.Op:
  return kit.op(
      "typed",
      library=library,
      signature="(n),(n)->()",
      reference=lambda x, y: jnp.sum(x * y),
      dtypes=("float32",),
  )
