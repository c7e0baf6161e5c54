# SPDX-License-Identifier: Apache-2.0
"""Peers that work on tensors: PyTorch's own functions, and those of others."""

import functools
import os

import jax
import torch
import torch._dynamo
import torch._inductor.config

import samplers
from variants import Variant

# torch.compile calls g++ for this machine, whatever level PyTorch is held to.
_LEVELS = {"avx2": "x86-64-v3", "default": "x86-64"}
if _LEVEL := _LEVELS.get(os.environ.get("ATEN_CPU_CAPABILITY")):
  torch._inductor.config.cpp.march = _LEVEL


def make(name, function, direction, sets) -> Variant:
  """Returns the variant, on the memory of the same arrays."""
  if name == "torch.compile":
    torch._dynamo.reset()  # Else it would stop compiling after some shapes.
    function = torch.compile(function, dynamic=False)
  # Gradients are computed on the stream of the forward pass: it is captured.
  stream = torch.cuda.Stream() if torch.cuda.is_available() else None
  with torch.cuda.stream(stream):
    calls = [_bind(function, direction, *arrays) for arrays in sets]

  def call():
    with torch.cuda.stream(stream):
      results = calls[0]()
    return results

  def wait(_=None):
    if stream:
      torch.cuda.synchronize()

  def results():
    found = call()
    wait()
    return [jax.dlpack.from_dlpack(x.detach()) for x in found]

  def device(count):
    return samplers.Pipelined(_program(calls, count, stream), wait, count)

  ways = samplers.of_host(call, wait) | {"device": device}
  return Variant(results, ways)


def _bind(function, direction, operands, cotangents):
  """Returns a function of nothing that runs the pass."""
  operands, cotangents = (
      [torch.from_dlpack(x).detach() for x in xs]
      for xs in (operands, cotangents)
  )
  if direction == "forward":
    return lambda: _tuple(function(*operands))
  inputs = [x for x in operands if x.is_floating_point()]
  for x in inputs:
    x.requires_grad_()
  floats = lambda results: [x for x in results if x.is_floating_point()]
  vjp = functools.partial(
      torch.autograd.grad, inputs=inputs, grad_outputs=cotangents
  )
  if direction == "backward":
    results = floats(_tuple(function(*operands)))
    return lambda: vjp(results, retain_graph=True)

  def both():
    results = _tuple(function(*operands))
    return *results, *vjp(floats(results))

  return both


def _tuple(results):
  return tuple(results) if isinstance(results, (tuple, list)) else (results,)


def _program(calls, count, stream):
  """Returns a program: the replay of a CUDA graph, or calls where is no GPU."""
  kept = [None] * len(calls)

  def run():
    for i in range(count):
      # Kept a while, as those of JAX are: memory that is not in the cache.
      kept[i % len(calls)] = calls[i % len(calls)]()

  if stream is None:
    return run
  with torch.cuda.stream(stream):
    for call in calls[:1] * 3:  # Compiles, and makes handles.
      call()
  stream.synchronize()
  graph = torch.cuda.CUDAGraph()
  # XLA's threads may call the driver meanwhile.
  with torch.cuda.graph(graph, stream=stream, capture_error_mode="relaxed"):
    run()

  def replay():
    graph.replay()
    return calls, kept  # A graph keeps none of the memory that it works on.

  return replay
