# SPDX-License-Identifier: Apache-2.0
"""Peers that work on tensors: PyTorch's own functions, and those of others."""

import contextlib
import functools
import os

import jax
import torch
import torch._dynamo
import torch._inductor.config
from torch.nn import functional

import variants

# torch.compile calls g++ for this machine, whatever level PyTorch is held to.
_LEVELS = {"avx2": "x86-64-v3", "default": "x86-64"}
if _LEVEL := _LEVELS.get(os.environ.get("ATEN_CPU_CAPABILITY")):
  torch._inductor.config.cpp.march = _LEVEL


def _add_rms_norm(x, residual, scale, *, eps):
  sums = x + residual
  return functional.rms_norm(sums, x.shape[-1:], scale, eps), sums


def _sort_key_val(keys, values):
  keys, order = keys.sort(-1, stable=True)
  return keys, values.gather(-1, order)


_TORCH = {
    "add_rms_norm": _add_rms_norm,
    "argmax": lambda a, axis: a.argmax(axis),
    "argsort": lambda x: x.argsort(-1, stable=True),
    "cumlogsumexp": lambda x, axis: x.logcumsumexp(axis),
    "cummax": lambda x, axis: x.cummax(axis).values,
    "cummin": lambda x, axis: x.cummin(axis).values,
    "cumprod": lambda x, axis: x.cumprod(axis),
    "cumsum": lambda x, axis: x.cumsum(axis),
    "layer_norm": lambda x, scale, bias, eps: functional.layer_norm(
        x, x.shape[-1:], scale, bias, eps
    ),
    "nonzero": lambda a, size: torch.nonzero_static(a, size=size)[:, 0],
    "rms_norm": lambda x, scale, eps: functional.rms_norm(
        x, x.shape[-1:], scale, eps
    ),
    "softmax": lambda x: functional.softmax(x, -1),
    "sort": lambda x: x.sort(-1).values,
    "sort_key_val": _sort_key_val,
    "top_k": lambda x, k: torch.topk(x, k),
    "unique": lambda x, size, **options: torch.unique(x, **options),
}


def _liger():
  """Kernels in Triton."""
  from liger_kernel.transformers import functional as liger

  return {
      "add_rms_norm": lambda x, residual, scale, eps: (
          liger.liger_fused_add_rms_norm(
              x, residual, scale, eps, in_place=False
          )
      ),
      "layer_norm": lambda x, scale, bias, eps: liger.liger_layer_norm(
          x, scale, bias, eps
      ),
      "rms_norm": lambda x, scale, eps: liger.liger_rms_norm(
          x, scale, eps, in_place=False
      ),
      "softmax": liger.liger_softmax,
  }


def _quack():
  """Kernels in CuTe."""
  import quack

  return {
      "add_rms_norm": lambda x, residual, scale, eps: quack.rmsnorm(
          x, scale, residual=residual, eps=eps, prenorm=True
      ),
      "rms_norm": lambda x, scale, eps: quack.rmsnorm(x, scale, eps=eps),
      "softmax": quack.softmax,
  }


# By library and op.
LIBRARIES = {"torch": _TORCH, "torch.compile": _TORCH}
with contextlib.suppress(ImportError):
  LIBRARIES["liger"] = _liger()
with contextlib.suppress(ImportError):
  LIBRARIES["quack"] = _quack()


def make(name, function, direction, sets) -> variants.Variant:
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
    return variants.Pipelined(_program(calls, count, stream), wait, count)

  found = variants.of_host(results, call, wait)
  return found._replace(samplers=found.samplers | {"device": device})


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
