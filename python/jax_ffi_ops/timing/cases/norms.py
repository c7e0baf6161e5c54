# SPDX-License-Identifier: Apache-2.0
"""Cases of norms and softmax, in rows x columns."""

import jax
import jax.numpy as jnp

from jax_ffi_ops.timing.case import ours
from jax_ffi_ops.timing.case import Timed
from jax_ffi_ops.timing.operands import array
from jax_ffi_ops.timing.operands import weight

# Small ones first; wide rows, and more and more rows.
_SIZES = (
    "8x4",
    "128x512",
    "16x1024",
    "256x1024",
    "1024x1024",
    "64x65536",
    "4096x1024",
    "2048x4096",
    "16384x1024",
)
_GPU_SIZES = (
    "4096x512",
    # As many elements in rows of every width, and what is large.
    "65536x1024",
    "32768x2048",
    "16384x4096",
    "8192x8192",
    "4096x16384",
    "2048x32768",
    "1024x65536",
    "512x131072",
    "256x262144",
    "64x262144",
    "8192x4096",
    "16384x8192",
    "65536x8192",
)
_ROWS = dict(
    sizes=_SIZES, gpu_sizes=_GPU_SIZES, typical="4096x1024", in_place=True
)
# All functions get it: nothing depends on whose default it is.
_EPS = dict(attributes=lambda rows, cols: {"eps": 1e-6})


def wide(x: jax.Array) -> jax.Array:
  """Returns the numbers in the dtype that norms compute in."""
  return x.astype(jnp.promote_types(x.dtype, jnp.float32))


def _rms_norm(x, scale, *, eps):
  rstd = jax.lax.rsqrt(jnp.mean(wide(x) ** 2, -1, keepdims=True) + eps)
  return (wide(x) * rstd * scale).astype(x.dtype)


def _add_rms_norm(x, residual, scale, *, eps):
  return _rms_norm(x + residual, scale, eps=eps), x + residual


def _layer_norm(x, scale, bias, *, eps):
  centered = wide(x) - jnp.mean(wide(x), -1, keepdims=True)
  variance = jnp.mean(centered * centered, -1, keepdims=True)
  rstd = jax.lax.rsqrt(variance + eps)
  return (centered * rstd * scale + bias).astype(x.dtype)


def _softmax(x):
  return jax.nn.softmax(wide(x)).astype(x.dtype)


CASES = {
    "add_rms_norm": Timed(
        ours("add_rms_norm"),
        {"jax.numpy": _add_rms_norm},
        operands=lambda *shape: (
            array(*shape),
            array(*shape),
            weight(shape[1]),
        ),
        streams={
            "forward": 4,  # x, residual, y, sum
            "backward": 5,  # sum, dy, dsum, dx, dresidual
        },
        **_ROWS,
        **_EPS,
    ),
    "layer_norm": Timed(
        ours("layer_norm"),
        {"jax.numpy": _layer_norm},
        operands=lambda rows, cols: (
            array(rows, cols),
            weight(cols),
            weight(cols),
        ),
        streams={
            "forward": 2,  # x, y
            "backward": 3,  # x, dy, dx
        },
        **_ROWS,
        **_EPS,
    ),
    "rms_norm": Timed(
        ours("rms_norm"),
        {"jax.numpy": _rms_norm},
        operands=lambda rows, cols: (array(rows, cols), weight(cols)),
        streams={
            "forward": 2,  # x, y
            "backward": 3,  # x, dy, dx
        },
        **_ROWS,
        **_EPS,
    ),
    "softmax": Timed(
        ours("softmax"),
        {"jax.numpy": _softmax},
        streams={
            "forward": 2,  # x, y
            "backward": 3,  # y, dy, dx
        },
        **_ROWS,
    ),
}
