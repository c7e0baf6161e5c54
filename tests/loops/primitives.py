# SPDX-License-Identifier: Apache-2.0
"""Prints which primitives of jax the build can compile, for docs/loops.md.

bazel run //tests/loops:primitives
"""

import families
import jax
from jax import lax

from jax_ffi_ops.kit.equations import equations
from jax_ffi_ops.loops import families as compiled


def tested() -> set[str]:
  """Returns the primitives in the functions that families_test compiles."""
  found = set()
  for _, function, shapes in families.OPS.values():
    avals = [
        jax.ShapeDtypeStruct(core if axis is None else (2, *core), dtype)
        for core, dtype, axis in shapes
    ]
    jaxpr = jax.make_jaxpr(function)(*avals).jaxpr
    found.update(x.primitive.name for x in equations(jaxpr))
  return found


def missing() -> list[str]:
  """Returns the primitives that jax.lax exports, and that have no rule."""
  exported = (x for n, x in vars(lax).items() if n.endswith("_p"))
  return sorted({x.name for x in exported}.difference(compiled.names()))


def table() -> str:
  """Returns the table, in Markdown."""
  known = tested()
  lists = {
      "compiled and tested": [n for n in compiled.names() if n in known],
      "compiled, not tested alone": [
          n for n in compiled.names() if n not in known
      ],
      "refused": missing(),
  }
  lines = ["| | primitives |", "|---|---|"]
  for title, names in lists.items():
    lines.append(f"| {title} | {', '.join(f'`{n}`' for n in names)} |")
  return "\n".join(lines)


if __name__ == "__main__":
  print(table())
