# SPDX-License-Identifier: Apache-2.0
"""A Kalman filter of a linear model with Gaussian noise."""

import pathlib

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit


def _kalman(ys, mean, cov, a, c, q, r):
  """Filters ys, [t, 2], by the model x -> a x, y = c x."""

  def step(carry, y):
    mean, cov, total = carry
    mean = a @ mean
    cov = a @ cov @ a.T + q
    s = c @ cov @ c.T + r
    det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
    inverse = jnp.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]]) / det
    gain = cov @ c.T @ inverse
    error = y - c @ mean
    total = total - 0.5 * (error @ inverse @ error + jnp.log(jnp.abs(det)))
    mean = mean + gain @ error
    cov = cov - gain @ c @ cov
    return (mean, 0.5 * (cov + cov.T), total), mean

  start = (mean, cov, jnp.zeros((), ys.dtype))
  (_, _, total), means = jax.lax.scan(step, start, ys)
  return total, means


kalman = kit.op(
    "kalman",
    library=kit.Library(
        pathlib.Path(__file__).with_name("libkalman_ext.so"), prefix="loops_"
    ),
    signature="(t,2),(n),(n,n),(n,n),(2,n),(n,n),(2,2)->(),(t,n)",
    reference=_kalman,
    outputs=("log_likelihood", "means"),
    dtypes=("float32", "float64"),
    choice=kit.Choice(strict=True),
)
