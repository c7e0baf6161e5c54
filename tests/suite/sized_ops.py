# SPDX-License-Identifier: Apache-2.0
"""Ops with fixed, multiple and computed sizes, and with rules that call them."""

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from ops import library

cross = kit.op(
    "cross",
    library=library,
    signature="(3),(3)->(3)",
    dtypes=("float32",),
    outputs=("c",),
    reference=lambda a, b: jnp.cross(a, b),
)


def _rotate(x, angle):
  first, second = jnp.split(x, 2)
  c, s = jnp.cos(angle), jnp.sin(angle)
  return jnp.concatenate([c * first - s * second, s * first + c * second])


# Linear in x alone.
rotate = kit.op(
    "rotate",
    library=library,
    signature="(2h),(h)->(2h)",
    dtypes=("float32",),
    reference=_rotate,
    derivatives=kit.Derivatives(transpose=lambda angle, dy: rotate(dy, -angle)),
)

powers = kit.op(
    "powers",
    library=library,
    signature="()->(m)",
    dtypes=("float32",),
    attributes={"l_max": kit.Attribute(np.int64, minimum=0, below=2**20)},
    results=kit.Results(sizes={"m": lambda l_max: (l_max + 1) ** 2}),
    reference=lambda x, *, l_max: x ** np.arange((l_max + 1) ** 2),
)

pairs = kit.op(
    "pairs",
    library=library,
    signature="(n)->(m)",
    dtypes=("float32",),
    results=kit.Results(sizes={"m": lambda n: n // 2}),
    reference=lambda x: x[: len(x) // 2 * 2].reshape(-1, 2).sum(1),
)


def _recurrence(a, b, *, reverse):
  def combine(first, second):
    return first[0] * second[0], second[0] * first[1] + second[1]

  return jax.lax.associative_scan(combine, (a, b), reverse=reverse)[1]


def _next(x, reverse):
  """Returns x[t+1] at t, or x[t-1]; 0 where there is none."""
  zero = jnp.zeros_like(x[:1])
  if reverse:
    return jnp.concatenate([zero, x[:-1]])[: len(x)]
  return jnp.concatenate([x[1:], zero])[: len(x)]


# Linear in b alone.
recurrence = kit.op(
    "recurrence",
    library=library,
    signature="(n),(n)->(n)",
    dtypes=("float32",),
    attributes={"reverse": np.bool_},
    reference=_recurrence,
    derivatives=kit.Derivatives(
        transpose=lambda a, dy, *, reverse: recurrence(
            _next(a, reverse), dy, reverse=not reverse
        )
    ),
)


def _backward(a, h, dh, *, reverse):
  db = recurrence_by_rule(_next(a, reverse), dh, reverse=not reverse)
  return db * _next(h, not reverse), db


recurrence_by_rule = kit.op(
    "recurrence_by_rule",
    library=library,
    signature="(n),(n)->(n)",
    dtypes=("float32",),
    attributes={"reverse": np.bool_},
    outputs=("h",),
    reference=_recurrence,
    derivatives=kit.Derivatives(residuals=("h",), backward=_backward),
)
