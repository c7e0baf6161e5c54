# SPDX-License-Identifier: Apache-2.0
"""All equations of a jaxpr."""

from collections.abc import Iterator

import jax
from jax.extend import core as jex_core


def equations(jaxpr: jex_core.Jaxpr) -> Iterator[jex_core.JaxprEqn]:
  """Yields the equations of a jaxpr, and of those inside it."""
  for equation in jaxpr.eqns:
    yield equation
    for inner in jax.tree.leaves(list(equation.params.values())):
      inner = getattr(inner, "jaxpr", inner)  # Of shard_map, it is open.
      if hasattr(inner, "eqns"):
        yield from equations(inner)
