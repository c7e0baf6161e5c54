# SPDX-License-Identifier: Apache-2.0
"""Peers on GPUs: kernels in Triton that jax has as examples of Pallas."""

from collections.abc import Callable, Mapping
import importlib

import jax
import jax.numpy as jnp

_PACKAGE = "jax.experimental.pallas.ops.gpu"
# softmax has a row in a block. Triton takes minutes to compile larger ones.
_MOST_COLUMNS = 2**14


def peers(name: str, interpret: bool = False) -> Mapping[str, Callable]:
  """Returns the peer of an op, if this jax has it and there is a GPU.

  Args:
    name: of the module, and of its function.
    interpret: whether to run it without a GPU, slowly.
  """
  if not interpret and jax.default_backend() != "gpu":
    return {}
  try:
    module = importlib.import_module(f"{_PACKAGE}.{name}")
  except ImportError:
    return {}
  function = getattr(module, name)

  def norm(x, scale, bias=None, *, eps):
    bias = jnp.zeros_like(scale) if bias is None else bias
    y = function(x[None], scale, bias, eps=eps, interpret=interpret)
    return y[0]

  def softmax(x):
    if x.shape[-1] > _MOST_COLUMNS:
      raise ValueError(f"more than {_MOST_COLUMNS} columns")
    return function(x, interpret=interpret)

  return {"pallas": softmax if name == "softmax" else norm}
