# SPDX-License-Identifier: Apache-2.0
"""Prints a digest of a loop's results and gradients in many rows.

The number of XLA's threads is that of the variable NPROC.
"""

import hashlib

import jax
import jax.numpy as jnp
import lorenz
import numpy as np

_ROWS, _STEPS = 1_001, 40


def main() -> None:
  # Else there is a device, and a pool, for each of 8 processors.
  jax.config.update("jax_num_cpu_devices", 1)
  rng = np.random.default_rng(0)
  y = rng.normal(size=(_ROWS, 3)).astype(np.float32)
  parameters = np.float32([10, 28, 8 / 3] + rng.normal(size=(_ROWS, 3)))
  # Rows that would spoil others, if lanes met.
  y[5], y[17], parameters[600] = np.nan, np.inf, -np.inf
  dts = np.full((_ROWS, _STEPS), 1e-3, np.float32)
  loss = lambda *xs: jnp.sum(lorenz.lorenz(*xs) ** 2)
  results = [
      lorenz.lorenz(y, parameters, dts),
      *jax.grad(loss, (0, 1, 2))(y, parameters, dts),
  ]
  digest = hashlib.sha256()
  for x in results:
    digest.update(np.asarray(x).tobytes())
  print(digest.hexdigest())


if __name__ == "__main__":
  main()
