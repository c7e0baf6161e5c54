# SPDX-License-Identifier: Apache-2.0
"""Runs what export_step wrote: with jax and flatbuffers, without our package.

python run_step.py FOLDER STEPS
"""

import ctypes
import json
import pathlib
import sys

import jax
from jax import export
import numpy as np


def register(folder: pathlib.Path) -> None:
  """Registers the handlers of a folder for the CPU. CUDA's end with `_cuda`."""
  libraries = json.loads((folder / "targets.json").read_text())
  for library, targets in libraries.items():
    handlers = ctypes.CDLL(folder / library)
    for target in targets:
      handler = jax.ffi.pycapsule(handlers[target + "_cpu"])
      jax.ffi.register_ffi_target(target, handler, platform="cpu")


def run(folder: pathlib.Path, steps: int) -> list[float]:
  """Returns the losses of a few steps from `start.npz` in the folder."""
  program = export.deserialize(bytearray((folder / "step.bin").read_bytes()))
  params = dict(np.load(folder / "start.npz"))
  x, labels = params.pop("x"), params.pop("labels")
  losses = []
  for _ in range(steps):
    params, loss = program.call(params, x, labels)
    losses.append(float(loss))
  return losses


if __name__ == "__main__":
  register(pathlib.Path(sys.argv[1]))
  print(*run(pathlib.Path(sys.argv[1]), int(sys.argv[2])))
