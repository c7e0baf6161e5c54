# SPDX-License-Identifier: Apache-2.0
"""What a line times: an op, its peers, and a copy or a sum of two arrays."""

import fnmatch
import functools

import jax
import jax.numpy as jnp

import accuracy
import catalog
import streams
import variants


def first_line(error: BaseException) -> str:
  """Returns what an error says, in short."""
  text = str(error).strip() or type(error).__name__
  return text.splitlines()[0]


def _makers(case, direction, way):
  """Returns what makes the variants of an op and its peers, by name."""
  ours = case.function
  if way == "in_place":
    ours = functools.partial(ours, in_place=True)
  functions = {"ours": ours} | dict(case.peers)
  makers = {
      name: functools.partial(variants.of_function, function, direction)
      for name, function in functions.items()
  }
  if direction == "backward":
    makers["ours"] = functools.partial(variants.of_vjp, case.function)
    for name, function in case.peers.items():
      if name.startswith("jax.numpy"):
        makers[name + ", kept"] = functools.partial(variants.of_vjp, function)
  for name, function in case.libraries.items():
    make = catalog.MAKERS[name]
    makers[name] = functools.partial(make, name, function, direction)
  return makers


def samplers(case, dtype, direction, way, sets, calls, peers):
  """Returns the samplers of an op and its peers, by name.

  Args:
    case: at a size.
    dtype: of the line, as are the next two.
    direction: the pass.
    way: of timing.
    sets: of operands and cotangents.
    calls: of a program for a GPU.
    peers: patterns of their names, or None for all.

  Returns:
    The samplers, the errors in ulps, and why other peers have none.
  """
  definition, *_ = case.peers.values()
  wanted = accuracy.wanted(definition, direction, *sets[0])
  shapes = [x.shape for x in jax.tree.leaves(sets[0])]
  found, ulps, dropped = {}, {}, {}
  for name, make in _makers(case, direction, way).items():
    meant = peers is None or any(fnmatch.fnmatch(name, p) for p in peers)
    if name != "ours" and not meant:
      continue
    try:
      variant = make(sets)
      if variant is None or way not in variant.samplers:
        continue
      error = accuracy.error(variant.call(), wanted)
      if not error.relative <= accuracy.tolerance(shapes, dtype):  # Nor NaN.
        raise RuntimeError(f"inaccurate, relative error {error.relative:.1e}")
      found[name] = variant.samplers[way](calls)
      ulps[name] = error.ulps
    except Exception as error:  # Each library has its own.
      if name == "ours":
        raise
      dropped[name] = first_line(error)
  return found, ulps, dropped


def stream_samplers(name, way, sets, calls):
  """Returns those of copies, or of sums of two arrays; the fastest counts."""
  functions = {"copy": [jnp.negative], "add": [jnp.add]}[name]
  if way == "call":
    functions += {"copy": [jnp.copy, streams.copy], "add": [streams.add]}[name]
  if way == "program":
    functions += {"copy": [streams.copy], "add": [streams.add]}[name]
  largest = [max(operands, key=lambda x: x.nbytes) for operands, _ in sets]
  # A bool has no negative.
  largest = [x.astype("int8") if x.dtype == bool else x for x in largest]
  operands = [(x, -x) if name == "add" else (x,) for x in largest]
  return {
      f"{name} {i}": variants.of_function(
          function, "forward", [(xs, ()) for xs in operands]
      ).samplers[way](calls)
      for i, function in enumerate(functions)
  }
