# SPDX-License-Identifier: Apache-2.0
"""Times loops whose C++ the build wrote against jax's own, as a table.

bazel run //tests/loops:benchmark -- --steps=1000

With --least_rows=hmm, it prints what the BUILD file says as `least_rows`. Each
time is of the wall clock, and the median of rounds in which all take turns.
"""

from collections.abc import Callable
import functools
import importlib
import json
from typing import Any
from unittest import mock

from absl import app
from absl import flags
import jax
import jax.numpy as jnp
import numpy as np
import peers

from jax_ffi_ops import kit
from jax_ffi_ops.timing import passes
from jax_ffi_ops.timing import rounds

_NAMES = """lorenz kalman lqr needleman_wunsch hmm metropolis pendulums
    van_der_pol gru""".split()
# Each is a function in a module of its name.
_LOOPS = {name: getattr(importlib.import_module(name), name) for name in _NAMES}
_BY_JAX = ("jax", "unrolled", "formulation")
_ONLY = flags.DEFINE_list("loops", list(_LOOPS), "Which loops.")
_STEPS = flags.DEFINE_integer("steps", 1000, "The steps of most loops.")
_SIZE = flags.DEFINE_integer("size", 32, "Of the states of gru: 8 or 32.")
_ROUNDS = flags.DEFINE_integer("rounds", 7, "How often each is timed.")
_LEAST_ROWS = flags.DEFINE_list(
    "least_rows", [], "Print `least_rows` of these loops instead."
)
_ROWS = flags.DEFINE_list("rows", ["1", "64"], "How many rows a call has.")
_JSON = flags.DEFINE_string("json", None, "A file to which times are added.")
_SAVE = flags.DEFINE_string("save", None, "Draw those of --json to this .svg.")


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
      a = 0.98 * eye(6) + 0.05 * normal(6, 6)
      costs = [eye(6), eye(2), np.ones((rows, t))]
      return [normal(6), a, 0.3 * normal(6, 2), *costs], ()
    case "needleman_wunsch":  # t^2 / 4 pairs
      return [normal(t // 2, t // 2), np.full(rows, -0.5)], ()
    case "hmm":
      return [normal(16), normal(16, 16), normal(t, 16)], ()
    case "metropolis":
      key = rng.integers(0, 2**32, (rows, 2), np.uint32)
      return [key, normal(2), np.ones((rows, t))], ()
    case "pendulums":
      start = [0.5 * normal(5), 0.1 * normal(5), 1 + 0.1 * normal(5)]
      return [*start, np.full((rows, t), 1e-3)], ()
    case "van_der_pol":  # Rows take from 500 steps on, up to ten times that.
      mu = np.exp(rng.uniform(-1, 2.5, rows))
      return [normal(2) + [2, 0], mu, np.full(rows, 20.0)], ()
    case "gru":
      h = _SIZE.value
      weights = [rng.normal(size=(3, h, h)) / h**0.5 for _ in range(2)]
      bias = rng.normal(size=(3, h))
      return [0 * normal(h), normal(t, h), *weights, bias], (2, 3, 4)


def _compiled(function, direction, operands, unroll=1) -> Callable[[], Any]:
  """Returns a call, of which the loops of jax do several steps at a time."""
  results = jax.tree.leaves(jax.eval_shape(function, *operands))
  cotangents = [jnp.ones(x.shape, x.dtype) for x in results]
  run = functools.partial(passes.run, function, direction)
  unrolled = functools.partial(jax.lax.scan, unroll=unroll)
  with mock.patch.object(jax.lax, "scan", unrolled):
    compiled = jax.jit(run).lower(operands, cotangents).compile()
  return functools.partial(compiled, operands, cotangents)


def _times(name: str, rows: int, backward: bool, all_ways=True):
  """Returns milliseconds of the handler and of others, by who it is."""
  op = _LOOPS[name]
  reference = op.declaration.reference.function
  operands, shared = _operands(name, rows, _STEPS.value)
  operands = [
      jnp.asarray(x, None if x.dtype == np.uint32 else np.float32)
      for x in operands
  ]
  direction = "backward" if backward else "forward"
  axes = [None if i in shared else 0 for i in range(len(operands))]
  by_jax = jax.vmap(reference, axes)
  with kit.using("handler if served"):
    calls = {"handler": _compiled(op, direction, operands)}
  calls["jax"] = _compiled(by_jax, direction, operands)
  if all_ways:
    calls["unrolled"] = _compiled(by_jax, direction, operands, unroll=4)
    if name in peers.JAX:
      other = jax.vmap(peers.JAX[name], axes)
      calls["formulation"] = _compiled(other, direction, operands)
    if name in peers.NUMPY and not backward:
      plain = [np.asarray(x) for x in operands]
      calls["numpy"] = functools.partial(peers.NUMPY[name], *plain)
  timings = rounds.of_calls(calls, _ROUNDS.value)
  return {name: 1e3 * timing.seconds[1] for name, timing in timings.items()}


def _table() -> None:
  """Prints times, in Markdown."""
  for name in _ONLY.value:
    for rows in map(int, _ROWS.value):
      line = f"| {name} | {rows} |"
      for backward in (False, True):
        if backward and not _LOOPS[name].declaration.backward_platforms:
          line += " |"
          continue
        found = _times(name, rows, backward)
        if _JSON.value:
          with open(_JSON.value, "a", encoding="utf-8") as file:
            key = [name, rows, "gradient" if backward else "forward"]
            print(json.dumps([*key, found]), file=file)
        ours = found.pop("handler")
        best = min(found.pop(n) for n in _BY_JAX if n in found)
        line += f" {best:.2f} / {ours:.2f} ms, {best / ours:.2g}×"
        line += "".join(f", {n} {x / ours:.2g}×" for n, x in found.items())
        line += " |"
      print(line, flush=True)


def _least_rows(name: str, backward: bool) -> int | None:
  """Returns from how many rows on the handler is faster than the reference."""
  least = None
  for rows in (64, 16, 8, 4, 2, 1):
    found = _times(name, rows, backward, all_ways=False)
    print(f"  {name} {rows}: {found}", flush=True)
    if found["handler"] > found["jax"]:
      return least
    least = rows
  return least


def _draw() -> None:
  import plot  # It needs matplotlib.

  ratios = {}
  with open(_JSON.value, encoding="utf-8") as lines:
    for name, rows, kind, found in map(json.loads, lines):
      best = min(found[n] for n in _BY_JAX if n in found)
      ratios[name, rows, kind] = best / found["handler"]
  plot.save(_SAVE.value, ratios)


def main(_) -> None:
  if _SAVE.value:
    return _draw()
  if not _LEAST_ROWS.value:
    return _table()
  for name in _LEAST_ROWS.value:
    has_backward = _LOOPS[name].declaration.backward_platforms
    passes = (False, True) if has_backward else (False,)
    print(name, tuple(_least_rows(name, x) for x in passes), flush=True)


if __name__ == "__main__":
  app.run(main)
