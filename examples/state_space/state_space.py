# SPDX-License-Identifier: Apache-2.0
"""A state-space model that learns to add two numbers of a long sequence.

  bazel run //examples/state_space -- --save=/tmp/state_space.svg

The state of each channel is a linear recurrence, h[t] = a[t] h[t-1] + b[t], whose
a and b are functions of the input. A training step, forward and gradient, is
timed with jax_ffi_ops.linear_recurrence and with the two loops that JAX has.

The model: a diagonal state-space layer with one state per channel, of which the
input selects the step size (Gu and Dao, Mamba: Linear-Time Sequence Modeling
with Selective State Spaces, 2023, arXiv:2312.00752). The task: Hochreiter and
Schmidhuber, Long Short-Term Memory, 1997, section 5.4.
"""

from collections.abc import Callable
import functools

import comparison
import jax
import jax.numpy as jnp

import jax_ffi_ops

_BATCH, _CHANNELS = 16, 64
_RATE = 0.01


def _associative_scan(a, b, axis):
  combine = lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1])
  return jax.lax.associative_scan(combine, (a, b), axis=axis)[1]


def _scan(a, b, axis):
  step = lambda h, x: (x[0] * h + x[1],) * 2
  a, b = (jnp.moveaxis(x, axis, 0) for x in (a, b))
  return jnp.moveaxis(
      jax.lax.scan(step, jnp.zeros_like(b[0]), (a, b))[1], 0, axis
  )


RECURRENCES = {
    "jax_ffi_ops.linear_recurrence": jax_ffi_ops.linear_recurrence,
    "jax.lax.associative_scan": _associative_scan,
    "jax.lax.scan": _scan,
}


def parameters(seed: int = 0) -> dict[str, jax.Array]:
  keys = jax.random.split(jax.random.key(seed), 3)
  return {
      "size": jax.random.normal(keys[0], (2, _CHANNELS)),
      "size_bias": jnp.full(_CHANNELS, -3.0),  # Steps are short at first.
      "input": jax.random.normal(keys[1], (2, _CHANNELS)),
      "input_bias": jnp.zeros(_CHANNELS),
      "output": jax.random.normal(keys[2], (_CHANNELS,)) / _CHANNELS**0.5,
  }


def problem(key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
  """Returns sequences [batch, n, 2], and the sums [batch] of marked numbers.

  The first of the two at each step is a number in [0, 1). The second is 1 at two
  steps, one in each half, and 0 elsewhere.
  """
  numbers, *halves = jax.random.split(key, 3)
  x = jax.random.uniform(numbers, (_BATCH, n))
  marks = [jax.random.randint(k, (_BATCH, 1), 0, n // 2) for k in halves]
  steps = jnp.arange(n)
  marked = (steps == marks[0]) | (steps == n // 2 + marks[1])
  return jnp.stack([x, marked], -1), jnp.sum(x * marked, -1)


def predict(weights, sequences, recurrence):
  """Returns the sum that the model reads from its last state."""
  size = jax.nn.softplus(sequences @ weights["size"] + weights["size_bias"])
  inputs = sequences @ weights["input"] + weights["input_bias"]
  h = recurrence(jnp.exp(-size), size * inputs, axis=1)
  return h[:, -1] @ weights["output"]


def loss(weights, sequences, sums, recurrence):
  return jnp.mean((predict(weights, sequences, recurrence) - sums) ** 2)


@functools.partial(jax.jit, static_argnames="recurrence")
def step(
    state: tuple[dict[str, jax.Array], dict[str, jax.Array]],
    sequences: jax.Array,
    sums: jax.Array,
    *,
    recurrence: Callable[..., jax.Array],
) -> tuple[tuple[dict[str, jax.Array], dict[str, jax.Array]], jax.Array]:
  """Returns weights and moments after a step of RMSprop, and the loss."""
  weights, moments = state
  value, gradients = jax.value_and_grad(loss)(
      weights, sequences, sums, recurrence
  )
  moments = jax.tree.map(
      lambda m, g: 0.95 * m + 0.05 * g * g, moments, gradients
  )
  weights = jax.tree.map(
      lambda w, m, g: w - _RATE * g * jax.lax.rsqrt(m + 1e-8),
      weights, moments, gradients,
  )  # fmt: skip
  return (weights, moments), value


def train(steps: int, n: int, recurrence: Callable[..., jax.Array]):
  """Returns the loss of each step."""
  weights = parameters()
  state = weights, jax.tree.map(jnp.ones_like, weights)
  losses = []
  for key in jax.random.split(jax.random.key(1), steps):
    state, value = step(state, *problem(key, n), recurrence=recurrence)
    losses.append(float(value))
  return losses


def times(n: int, rounds: int) -> dict[str, float]:
  """Returns the median time of a training step, in milliseconds."""
  weights = parameters()
  state = weights, jax.tree.map(jnp.ones_like, weights)
  keys = jax.random.split(jax.random.key(1), rounds + 1)
  return comparison.times(
      {
          name: functools.partial(step, recurrence=recurrence)
          for name, recurrence in RECURRENCES.items()
      },
      lambda i: (state, *problem(keys[i], n)),
      rounds,
  )


if __name__ == "__main__":
  comparison.main(
      times,
      "64,256,1024,4096",
      title="A training step of a state-space model",
      size="length of a sequence",
  )
