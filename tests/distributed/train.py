# SPDX-License-Identifier: Apache-2.0
"""Trains a small model made of all ops; alone, or as one of several processes.

  train.py DATAxMODEL [ADDRESS PROCESSES INDEX]

prints the losses, and how many compiled programs were in the cache.
"""

import json
import sys

import jax
from jax import monitoring
import jax.numpy as jnp
from jax.sharding import AxisType
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
import numpy as np

import jax_ffi_ops as ops

_BATCH, _FEATURES, _HEADS, _HEAD = 16, 24, 4, 8
_SPECS = {  # of the parameters, all of which are matrices and vectors
    "scale": P(),
    "into_heads": P(None, "model", None),
    "out_of_heads": P("model", None, None),
    "residual_scale": P(),
    "last_scale": P(),
    "last_bias": P(),
}


def start(address: str, processes: str, index: str) -> None:
  jax.config.update("jax_cpu_collectives_implementation", "gloo")
  jax.distributed.initialize(address, int(processes), int(index))


def loss(parameters, x, wanted):
  p = parameters
  y = ops.rms_norm(x, p["scale"])
  heads = jnp.einsum("bf,fhd->bhd", y, p["into_heads"])
  heads = ops.softmax(heads)  # Each device has the heads of its own.
  y = jnp.einsum("bhd,hdf->bf", heads, p["out_of_heads"])
  y, x = ops.add_rms_norm(y, x, p["residual_scale"])
  y = ops.layer_norm(x + y, p["last_scale"], p["last_bias"])
  return jnp.mean((y - wanted) ** 2)


@jax.jit
def step(parameters, x, wanted):
  value, gradients = jax.value_and_grad(loss)(parameters, x, wanted)
  return value, jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients)


def _shapes():
  vector = (_FEATURES,)
  return {
      name: {
          "into_heads": (_FEATURES, _HEADS, _HEAD),
          "out_of_heads": (_HEADS, _HEAD, _FEATURES),
      }.get(name, vector)
      for name in _SPECS
  }


def main() -> None:
  events = []
  monitoring.register_event_listener(lambda event, **_: events.append(event))
  if sys.argv[2:]:
    start(*sys.argv[2:])
  data, model = map(int, sys.argv[1].split("x"))
  mesh = jax.make_mesh(
      (data, model), ("data", "model"), axis_types=(AxisType.Auto,) * 2
  )
  rng = np.random.default_rng(0)

  def array(shape, spec):
    values = rng.normal(size=shape).astype(np.float32)
    # Each process makes the parts that its own devices have.
    return jax.make_array_from_callback(
        shape, NamedSharding(mesh, spec), values.__getitem__
    )

  parameters = {n: array(s, _SPECS[n]) for n, s in _shapes().items()}
  x, wanted = (array((_BATCH, _FEATURES), P("data", None)) for _ in range(2))
  losses = []
  for _ in range(5):
    value, parameters = step(parameters, x, wanted)
    losses.append(float(value))
  hits = sum(event.endswith("/cache_hits") for event in events)
  print(json.dumps({"losses": losses, "hits": hits}))


if __name__ == "__main__":
  main()
