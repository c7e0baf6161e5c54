# SPDX-License-Identifier: Apache-2.0
"""Times the functions of an example against each other: a table, and a plot."""

import argparse
from collections.abc import Callable, Mapping
import statistics
import time
from typing import Any

import jax


def times(
    functions: Mapping[str, Callable[..., Any]],
    operands: Callable[[int], tuple[Any, ...]],
    rounds: int,
) -> dict[str, float]:
  """Returns the median time of each function, in milliseconds.

  Args:
    functions: by name.
    operands: returns what a round calls them with.
    rounds: how many, after one that compiles.
  """
  seconds = {name: [] for name in functions}
  for i in range(rounds + 1):
    arrays = jax.block_until_ready(operands(i))
    for name, function in functions.items():
      start = time.perf_counter()
      jax.block_until_ready(function(*arrays))
      seconds[name].append(time.perf_counter() - start)
  return {name: 1e3 * statistics.median(x[1:]) for name, x in seconds.items()}


def main(
    times_of: Callable[[int, int], dict[str, float]],
    sizes: str,
    *,
    title: str,
    size: str,
) -> None:
  """Prints the times of the sizes that the command line asks for.

  Args:
    times_of: returns what `times` does, for a size and a number of rounds.
    sizes: unless the command line has others.
    title: of the plot.
    size: what a size counts.
  """
  parser = argparse.ArgumentParser(description=title)
  parser.add_argument("--sizes", default=sizes)
  parser.add_argument("--rounds", type=int, default=9)
  parser.add_argument("--save", help="an SVG file for the plot")
  options = parser.parse_args()
  measured = {}
  for n in map(int, options.sizes.split(",")):
    measured[n] = times_of(n, options.rounds)
    if len(measured) == 1:
      print(f"{size:>20}" + "".join(f"{name:>32}" for name in measured[n]))
    print(f"{n:20}" + "".join(f"{x:29.2f} ms" for x in measured[n].values()))
  if options.save:
    import plot  # It needs matplotlib.

    plot.save(options.save, measured, title=title, size=size)
