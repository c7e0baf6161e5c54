# SPDX-License-Identifier: Apache-2.0
"""The cost of a linear system under its best feedback, over a horizon."""

import pathlib

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit


def _lqr(x, a, b, q, r, weights):
  """Costs x^T q x + u^T r u, step t times weights[t], for x -> a x + b u."""

  def riccati(p, weight):
    bp = b.T @ p
    s = weight * r + bp @ b
    det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
    inverse = jnp.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]]) / det
    gain = inverse @ (bp @ a)
    p = weight * q + a.T @ p @ (a - b @ gain)
    return 0.5 * (p + p.T), gain

  _, gains = jax.lax.scan(riccati, q, weights, reverse=True)

  def step(x, xs):
    gain, weight = xs
    u = -gain @ x
    return a @ x + b @ u, weight * (x @ q @ x + u @ r @ u)

  x, costs = jax.lax.scan(step, x, (gains, weights))
  return costs.sum() + x @ q @ x


lqr = kit.op(
    "lqr",
    library=kit.Library(
        pathlib.Path(__file__).with_name("liblqr_ext.so"), prefix="loops_"
    ),
    signature="(n),(n,n),(n,2),(n,n),(2,2),(t)->()",
    reference=_lqr,
    outputs=("cost",),
    dtypes=("float32",),
)
