# SPDX-License-Identifier: Apache-2.0
"""The suite of ops passes for what jax_ffi_ops.compile makes of a function."""

from absl.testing import absltest
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops.compiled import compile  # pylint: disable=redefined-builtin
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand


@compile
def _pendulum(state, length, forces):
  def step(state, force):
    angle, speed = state
    speed = speed + 0.1 * (force - jnp.sin(angle) / length)
    return jnp.stack([angle + 0.1 * speed, speed]), angle

  return jax.lax.scan(step, state, forces)


def _op(function, *shapes):
  avals = [jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]
  jax.eval_shape(function, *avals)
  return function.ops[-1]


class PendulumTest(testing.ConformanceTest):
  case = Case(
      _op(_pendulum, (2,), (), (20,)),
      [
          Operand((2,)),
          Operand((), values=lambda rng, shape: 1 + rng.uniform(size=shape)),
          Operand((20,)),
      ],
      reference=_pendulum.__wrapped__,
  )


if __name__ == "__main__":
  absltest.main()
