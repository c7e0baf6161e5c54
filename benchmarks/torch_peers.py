# SPDX-License-Identifier: Apache-2.0
"""Peers that work on tensors: PyTorch's own functions, and those of others."""

from collections.abc import Callable, Mapping
import functools
import importlib
import importlib.util

import jax
import torch
import torch._dynamo

import device_timing
from variants import Variant

_COMPILED = "torch.compile"
# The modules that entries' functions are given. Liger's kernels are written in
# Triton, QuACK's in CuTe.
_MODULES = {
    "torch": "torch.nn.functional",
    _COMPILED: "torch.nn.functional",
    "liger": "liger_kernel.transformers.functional",
    "quack": "quack",
}


def names() -> list[str]:
  """Returns the peers whose libraries are installed."""
  return [
      name
      for name, module in _MODULES.items()
      if importlib.util.find_spec(module.partition(".")[0])
  ]


def has(name: str, functions: Mapping[str, Callable]) -> bool:
  """Returns whether an entry has a function for a peer."""
  return name.removesuffix(".compile") in functions


def make(name, functions, direction, sets) -> Variant:
  """Returns the variant, on the memory of the same arrays."""
  module = importlib.import_module(_MODULES[name])
  function = functions[name.removesuffix(".compile")]
  function = functools.partial(function, module)
  if name == _COMPILED:
    torch._dynamo.reset()  # Else it would stop compiling after some shapes.
    function = torch.compile(function, dynamic=False)
  # Gradients are computed on the stream of the forward pass: it is captured.
  stream = torch.cuda.Stream() if torch.cuda.is_available() else None
  with torch.cuda.stream(stream):
    calls = [_bind(function, direction, *arrays) for arrays in sets]

  def call():
    with torch.cuda.stream(stream):
      results = calls[0]()
    if stream:
      stream.synchronize()
    return [jax.dlpack.from_dlpack(x.detach()) for x in results]

  return Variant(call, lambda count: _program(calls, count, stream))


def _bind(function, direction, operands, cotangents):
  """Returns a function of nothing that runs the pass."""
  operands, cotangents = (
      [torch.from_dlpack(x).detach() for x in xs]
      for xs in (operands, cotangents)
  )
  if direction == "forward":
    return lambda: _tuple(function(*operands))
  for operand in operands:
    operand.requires_grad_()
  vjp = functools.partial(
      torch.autograd.grad, inputs=operands, grad_outputs=cotangents
  )
  if direction == "backward":
    results = _tuple(function(*operands))
    return lambda: vjp(results, retain_graph=True)

  def both():
    results = _tuple(function(*operands))
    return *results, *vjp(results)

  return both


def _tuple(results):
  return results if isinstance(results, tuple) else (results,)


def _program(calls, count, stream):
  """Returns a program that replays a CUDA graph, or calls where is no GPU."""
  kept = [None] * len(calls)

  def run():
    for i in range(count):
      # Kept a while, as those of JAX are: memory that is not in the cache.
      kept[i % len(calls)] = calls[i % len(calls)]()

  if stream is None:
    return device_timing.Program(run, lambda _: None, count)
  with torch.cuda.stream(stream):
    for call in calls[:1] * 3:  # Compiles, and makes handles.
      call()
  stream.synchronize()
  graph = torch.cuda.CUDAGraph()
  # XLA's threads may call the driver meanwhile.
  with torch.cuda.graph(graph, stream=stream, capture_error_mode="relaxed"):
    run()
  return device_timing.Program(
      graph.replay, lambda _: torch.cuda.synchronize(), count
  )
