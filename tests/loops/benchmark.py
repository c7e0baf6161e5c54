# SPDX-License-Identifier: Apache-2.0
"""Times loops whose C++ the build wrote against jax's own, as a table.

bazel run //tests/loops:benchmark -- --steps=1000

With --least_rows=hmm, it prints what the BUILD file says as `least_rows`.
"""

from collections.abc import Callable
import functools
import statistics
import time
from unittest import mock

from absl import app
from absl import flags
import hmm
import jax
import jax.numpy as jnp
import kalman
import lorenz
import lqr
import metropolis
import needleman_wunsch
import numpy as np

from jax_ffi_ops import kit

_STEPS = flags.DEFINE_integer("steps", 1000, "The steps of most loops.")
_ROUNDS = flags.DEFINE_integer("rounds", 7, "How often each is timed.")
_LEAST_ROWS = flags.DEFINE_list(
    "least_rows", [], "Print `least_rows` of these loops instead."
)
_ROWS = flags.DEFINE_list("rows", ["1", "64"], "How many rows a call has.")


def _operands(name: str, rows: int, t: int):
  """Returns operands, and which of them rows share."""
  rng = np.random.default_rng(0)
  normal = lambda *core: rng.normal(size=(rows, *core))
  eye = lambda n: np.broadcast_to(np.eye(n), (rows, n, n))
  match name:
    case "lorenz":
      parameters = np.broadcast_to([10, 28, 8 / 3], (rows, 3))
      return [normal(3), parameters, np.full((rows, t), 1e-3)], ()
    case "kalman":
      a, c = np.eye(4) + 0.1 * np.eye(4, k=2), np.eye(2, 4)
      model = [a, c, 0.01 * np.eye(4), 0.1 * np.eye(2)]
      return [0.1 * normal(t, 2), normal(4), eye(4), *model], (3, 4, 5, 6)
    case "lqr":
      a = 0.98 * eye(4) + 0.05 * normal(4, 4)
      weights = np.ones((rows, t))
      return [
          normal(4),
          a,
          0.3 * normal(4, 2),
          eye(4),
          eye(2),
          weights,
      ], ()
    case "needleman_wunsch":
      n = max(2, int(t**0.5) * 8)  # 64 t pairs or so
      return [normal(n, n), np.full(rows, -0.5)], ()
    case "hmm":
      return [normal(16), normal(16, 16), normal(t, 16)], ()
    case "metropolis":
      key = rng.integers(0, 2**32, (rows, 2), np.uint32)
      return [key, normal(2), np.ones((rows, t))], ()


_LOOPS = {
    "lorenz": lorenz.lorenz,
    "kalman": kalman.kalman,
    "lqr": lqr.lqr,
    "needleman_wunsch": needleman_wunsch.needleman_wunsch,
    "hmm": hmm.hmm,
    "metropolis": metropolis.metropolis,
}


def _total(function, *operands):
  return sum(jnp.sum(x) for x in jax.tree.leaves(function(*operands)))


def _compiled(function, operands, differentiable, unroll) -> Callable[[], None]:
  """Returns a call, of which the loops of jax do several steps at a time."""
  if differentiable:
    function = jax.grad(functools.partial(_total, function), differentiable)
  unrolled = functools.partial(jax.lax.scan, unroll=unroll)
  with mock.patch.object(jax.lax, "scan", unrolled):
    compiled = jax.jit(function).lower(*operands).compile()
  return lambda: jax.block_until_ready(compiled(*operands))


def _milliseconds(calls: dict[str, Callable[[], None]]) -> dict[str, float]:
  found = {name: [] for name in calls}
  for _ in range(_ROUNDS.value):
    for name, call in calls.items():
      before = time.perf_counter()
      call()
      found[name].append((time.perf_counter() - before) * 1e3)
  return {name: statistics.median(x) for name, x in found.items()}


def _times(op, rows: int, backward: bool) -> dict[str, float]:
  """Returns milliseconds of the handler and of jax, by who it is."""
  reference = op.declaration.reference.function
  operands, shared = _operands(op.declaration.name, rows, _STEPS.value)
  operands = [
      jnp.asarray(x, None if x.dtype == np.uint32 else np.float32)
      for x in operands
  ]
  argnums = ()
  if backward:
    argnums = tuple(i for i, x in enumerate(operands) if x.dtype == np.float32)
  axes = [None if i in shared else 0 for i in range(len(operands))]
  by_jax = jax.vmap(reference, axes)
  with kit.handlers_at_any_speed():
    calls = {"handler": _compiled(op, operands, argnums, 1)}
  for unroll in (1, 4):
    calls[f"jax {unroll}"] = _compiled(by_jax, operands, argnums, unroll)
  return _milliseconds(calls)


def _table() -> None:
  """Prints times, in Markdown."""
  for name, op in _LOOPS.items():
    for rows in map(int, _ROWS.value):
      line = f"| {name} | {rows} |"
      for backward in (False, True):
        if backward and not op.declaration.backward_platforms:
          line += " |"
          continue
        found = _times(op, rows, backward)
        ours = found.pop("handler")
        best = min(found.values())
        line += f" {best:.2f} / {ours:.2f} ms, {best / ours:.2g}x |"
      print(line, flush=True)


def _least_rows(op, backward: bool) -> int | None:
  """Returns from how many rows on the handler is faster than the reference."""
  least = None
  for rows in reversed(range(7)):
    found = _times(op, 1 << rows, backward)
    if found["handler"] > found["jax 1"]:
      return least
    least = 1 << rows
  return least


def main(_) -> None:
  if not _LEAST_ROWS.value:
    return _table()
  for name in _LEAST_ROWS.value:
    op = _LOOPS[name]
    passes = (False, True) if op.declaration.backward_platforms else (False,)
    print(name, tuple(_least_rows(op, x) for x in passes), flush=True)


if __name__ == "__main__":
  app.run(main)
