# SPDX-License-Identifier: Apache-2.0
"""The peers of rms_norm on a GPU, where PyTorch and Triton are installed."""

import functools

import jax

import gpu_timing
from rms_norm_gpu_programs import Inputs
from rms_norm_gpu_programs import Variant

_MISSING = {}
try:
  import torch
  import torch._dynamo

  if not torch.cuda.is_available():
    _MISSING["torch"] = "finds no GPU"
except ImportError:
  _MISSING["torch"] = "is not installed"
try:
  import triton
  import triton.language as tl
except ImportError:
  _MISSING["triton"] = "is not installed"

_EPS = 1e-6
_TRITON_COLUMNS = 65536  # One program has all of a row.


def missing() -> list[str]:
  """Returns what is not there, and why."""
  return [f"{name} {why}" for name, why in _MISSING.items()]


def _variant(calls, stream):
  """Returns the variant that replays a CUDA graph of these calls."""
  for call in calls[:1] * 3:  # Compiles, and makes handles.
    call()
  stream.synchronize()
  graph = torch.cuda.CUDAGraph()
  with torch.cuda.graph(graph, stream=stream):
    results = [call() for call in calls]

  def first():
    graph.replay()
    torch.cuda.synchronize()
    return [jax.dlpack.from_dlpack(x.detach()) for x in results[0]]

  program = gpu_timing.Program(
      graph.replay, lambda _: torch.cuda.synchronize(), len(calls)
  )
  return Variant(program, first)


def _calls(norm, xs, scale, dys, direction):
  """Returns a function for each call, which returns tensors."""
  if direction == "forward":
    return [functools.partial(lambda x: (norm(x, scale),), x) for x in xs]
  xs = [x.detach().requires_grad_() for x in xs]
  scale = scale.detach().requires_grad_()
  grad = torch.autograd.grad
  if direction == "backward":
    ys = [norm(x, scale) for x in xs]
    return [
        functools.partial(grad, y, (x, scale), dy, retain_graph=True)
        for y, x, dy in zip(ys, xs, dys)
    ]

  def both(x, dy):
    y = norm(x, scale)
    return y, *grad(y, (x, scale), dy)

  return [functools.partial(both, x, dy) for x, dy in zip(xs, dys)]


def variants(inputs: Inputs, direction: str) -> dict[str, Variant]:
  """Returns those that are there, on the memory of the same arrays."""
  if "torch" in _MISSING:
    return {}
  *lists, scale = inputs
  xs, dys = (list(map(torch.from_dlpack, arrays)) for arrays in lists)
  scale = torch.from_dlpack(scale)

  def eager(x, scale):
    return torch.nn.functional.rms_norm(x, x.shape[-1:], scale, _EPS)

  torch._dynamo.reset()  # Else it would stop compiling after some shapes.
  norms = {"torch": eager, "compiled": torch.compile(eager, dynamic=False)}
  if direction == "forward" and "triton" not in _MISSING:
    if xs[0].shape[-1] <= _TRITON_COLUMNS:
      norms["triton"] = _triton_norm
  # Gradients are computed on the stream of the forward pass: it is captured.
  stream = torch.cuda.Stream()
  with torch.cuda.stream(stream):
    return {
        name: _variant(_calls(norm, xs, scale, dys, direction), stream)
        for name, norm in norms.items()
    }


if "triton" not in _MISSING:

  @triton.jit
  def _triton_kernel(x, scale, y, cols, eps, BLOCK: tl.constexpr):
    """A row per program, all of it at once: as tutorials have it."""
    row = tl.program_id(0).to(tl.int64) * cols
    column = tl.arange(0, BLOCK)
    mask = column < cols
    value = tl.load(x + row + column, mask=mask, other=0).to(tl.float32)
    rstd = 1 / tl.sqrt(tl.sum(value * value, 0) / cols + eps)
    factor = tl.load(scale + column, mask=mask, other=0).to(tl.float32)
    tl.store(y + row + column, value * rstd * factor, mask=mask)

  def _triton_norm(x, scale):
    y = torch.empty_like(x)
    rows, cols = x.shape
    block = triton.next_power_of_2(cols)
    warps = max(1, min(16, block // 512))
    _triton_kernel[(rows,)](
        x, scale, y, cols, _EPS, BLOCK=block, num_warps=warps
    )
    return y
