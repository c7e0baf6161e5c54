# SPDX-License-Identifier: Apache-2.0
"""Writes a training step, and the handlers that it calls, into a folder."""

import json
import pathlib
import shutil

import jax
from jax import export
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops import rms_norm
from jax_ffi_ops import softmax

BATCH, WIDTH, CLASSES = 4, 8, 3
_OPS = (rms_norm, softmax)


def _loss(params, x, labels):
  hidden = rms_norm(x @ params["inner"], params["scale"])
  probabilities = softmax(hidden @ params["outer"])
  right = jnp.take_along_axis(probabilities, labels[:, None], axis=1)
  return -jnp.log(right).mean()


def step(
    params: dict[str, jax.Array], x: jax.Array, labels: jax.Array
) -> tuple[dict[str, jax.Array], jax.Array]:
  """One step of gradient descent.

  Args:
    params: `inner` [WIDTH, WIDTH], `scale` [WIDTH], `outer` [WIDTH, CLASSES].
    x: float32 array of shape [BATCH, WIDTH].
    labels: int32 array of shape [BATCH].

  Returns:
    The new parameters, and the loss before the step.
  """
  # For so few elements, an op would choose XLA's own code.
  with kit.using("handler if served"):
    loss, gradients = jax.value_and_grad(_loss)(params, x, labels)
  return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


def start() -> tuple[dict[str, jax.Array], jax.Array, jax.Array]:
  """Returns arguments of `step`."""
  keys = jax.random.split(jax.random.key(0), 4)
  params = {
      "inner": jax.random.normal(keys[0], (WIDTH, WIDTH)),
      "scale": jnp.ones(WIDTH),
      "outer": jax.random.normal(keys[1], (WIDTH, CLASSES)),
  }
  x = jax.random.normal(keys[2], (BATCH, WIDTH))
  return params, x, jax.random.randint(keys[3], (BATCH,), 0, CLASSES)


def write(folder: pathlib.Path) -> None:
  """Writes all that another machine needs besides jax.

  Args:
    folder: gets `step.bin`, the program for CPUs and for CUDA; the shared
      objects with its handlers; `targets.json`, the handlers of each.
  """
  program = export.export(
      jax.jit(step),
      platforms=("cpu", "cuda"),
      # jax asks which custom calls will be there where the program runs.
      disabled_checks=kit.export_checks(*_OPS),
  )(*start())
  (folder / "step.bin").write_bytes(program.serialize())
  libraries = {}
  for op in (op for function in _OPS for op in kit.ops_of(function)):
    libraries[pathlib.Path(shutil.copy(op.library, folder)).name] = op.targets
  (folder / "targets.json").write_text(json.dumps(libraries))
