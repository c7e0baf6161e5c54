# SPDX-License-Identifier: Apache-2.0
"""Cases of filters and splines."""

import jax
import jax.numpy as jnp
import numpy as np

import jax_ffi_ops
from jax_ffi_ops.timing.case import ours
from jax_ffi_ops.timing.case import Timed
from jax_ffi_ops.timing.operands import Array
from jax_ffi_ops.timing.operands import array

# Of lfilter, of order 1; and of each section of sosfilt, as a row has them.
B, A = (0.1, 0.05), (1.0, -0.9)
_SECTION = (1, 0.5, 0.25, 1, -0.5, 0.25)
_SIGNALS = ("8x64", "1x65536", "64x16384")  # signals x samples


def filter_by_scan(x, b=B, a=A, unroll=1):
  """The states of an order are a tuple: XLA vectorizes over the signals."""

  def step(z, x):
    y = z[0] + b[0] * x
    fed = [u + b[k] * x - a[k] * y for k, u in enumerate((*z[1:], 0), 1)]
    return tuple(fed), y

  start = (jnp.zeros_like(x[:, 0]),) * (len(b) - 1)
  return jax.lax.scan(step, start, x.T, unroll=unroll)[1].T


def _sosfilt(sos, x):
  for section in sos:
    x = filter_by_scan(x, section[:3], section[3:])
  return x


def _draw_sections(key, shape):
  del key
  return jnp.broadcast_to(jnp.array(_SECTION), shape)


def _spline_filter1d(x):
  """Of order 3, along the first axis, for lines of 16 elements and more."""
  z = 3**0.5 - 2
  weights = z ** jnp.arange(16.0)[:, None]
  start = jnp.sum(weights * x[:16], 0)
  y = jax.lax.scan(lambda y, x: ((x + z * y,) * 2), start, x[1:])[1]
  y = jnp.concatenate([start[None], y])
  end = z / (z * z - 1) * (z * y[-2] + y[-1])
  back = lambda c, y: ((z * (c - y),) * 2)
  c = jax.lax.scan(back, end, y[:-1], reverse=True)[1]
  return 6 * jnp.concatenate([c, end[None]])


def _spline_filter(x):
  return _spline_filter1d(_spline_filter1d(x).T).T


def _image_and_places(side, n):
  draw = lambda key, shape: jax.random.uniform(key, shape, maxval=side - 1.0)
  return Array((side, side), jax.random.uniform), Array((2, n), draw)


_FLOAT32 = dict(dtypes=("float32",))
CASES = {
    "lfilter": Timed(
        lambda x: jax_ffi_ops.lfilter(
            np.asarray(B, x.dtype), np.asarray(A, x.dtype), x
        ),
        {"jax.lax.scan": filter_by_scan},
        sizes=_SIGNALS,
        **_FLOAT32,
    ),
    "map_coordinates": Timed(
        ours("map_coordinates"),
        {"jax.scipy": jax.scipy.ndimage.map_coordinates},
        operands=_image_and_places,
        sizes=("16x64", "64x4096", "64x262144"),
        attributes=lambda side, n: {"order": 1},
        streams={"forward": 1.5},  # two coordinates, a result
        **_FLOAT32,
    ),
    "sosfilt": Timed(
        ours("sosfilt"),
        {"jax.lax.scan": _sosfilt},
        operands=lambda *shape: (
            Array((4, 6), _draw_sections),
            array(*shape),
        ),
        sizes=_SIGNALS,
        **_FLOAT32,
    ),
    "spline_filter": Timed(
        ours("spline_filter"),
        {"jax.lax.scan": _spline_filter},
        sizes=("64x64", "1024x1024"),
        **_FLOAT32,
    ),
    "spline_filter1d": Timed(
        lambda x: jax_ffi_ops.spline_filter1d(x, axis=0),
        {"jax.lax.scan": _spline_filter1d},
        sizes=("64x8", "1024x1024", "4096x256"),
        typical="1024x1024",
        **_FLOAT32,
    ),
}
