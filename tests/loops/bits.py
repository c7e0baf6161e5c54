# SPDX-License-Identifier: Apache-2.0
"""Loops and their operands, for tests of bits; prints a digest of results.

The number of XLA's threads is that of the variable NPROC.
"""

import hashlib

import hmm
import jax
import kalman
import lorenz
import lqr
import metropolis
import needleman_wunsch
import numpy as np

_ROWS, _STEPS = 1_001, 40


def calls(rows: int, steps: int):
  """Yields loops, their operands, and which of these all rows share."""
  rng = np.random.default_rng(0)
  normal = lambda *core: rng.normal(size=(rows, *core))
  near = lambda n, *shape: np.eye(n) + 0.05 * rng.normal(size=(*shape, n, n))
  ones = np.ones((rows, steps))
  yield lorenz.lorenz, [normal(3), [10, 28, 8 / 3] + normal(3), ones / 1e3], ()
  model = [0.9 * near(4), near(4)[:2], 0.01 * np.eye(4), 0.1 * np.eye(2)]
  start = [normal(steps, 2), normal(4), np.stack([np.eye(4)] * rows)]
  yield kalman.kalman, start + model, (3, 4, 5, 6)
  costs = [np.stack([np.eye(n)] * rows) for n in (4, 2)]
  system = [normal(4), 0.9 * near(4, rows), 0.3 * normal(4, 2)]
  yield lqr.lqr, [*system, *costs, ones], ()
  score = [normal(steps, steps), -0.5 + 0.1 * normal()]
  yield needleman_wunsch.needleman_wunsch, score, ()
  yield hmm.hmm, [normal(3), normal(3, 3), normal(steps, 3)], ()
  key = rng.integers(0, 2**32, (rows, 2), np.uint32)
  yield metropolis.metropolis, [key, normal(2), ones], ()


def both_passes(op, operands) -> list[np.ndarray]:
  """Returns a loop's results, and gradients for these as cotangents."""
  operands = [x if x.dtype == np.uint32 else np.float32(x) for x in operands]
  if not op.declaration.backward_platforms:
    return [np.asarray(op(*operands))]
  found, pull_back = jax.vjp(op, *operands)
  return list(map(np.asarray, jax.tree.leaves((found, pull_back(found)))))


def main() -> None:
  # Else there is a device, and a pool, for each of 8 processors.
  jax.config.update("jax_num_cpu_devices", 1)
  digest = hashlib.sha256()
  for op, operands, shared in calls(_ROWS, _STEPS):
    # Rows that would spoil others, if lanes met.
    if not shared and operands[0].dtype != np.uint32:
      operands[0][5], operands[0][17], operands[1][600] = (
          np.nan,
          np.inf,
          -np.inf,
      )
    for x in both_passes(op, operands):
      digest.update(x.tobytes())
  print(digest.hexdigest())


if __name__ == "__main__":
  main()
