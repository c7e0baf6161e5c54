# SPDX-License-Identifier: Apache-2.0
"""Peers of oneDNN on the CPU: norms and softmax of rows."""

from collections.abc import Callable
import ctypes

import numpy as np

from onednn_library import bind
from onednn_library import is_installed as is_installed
from onednn_library import operation
from onednn_library import shape
from onednn_library import wait
import samplers
from variants import Variant

# The values of its header.
_TRAINING, _INFERENCE, _BACKWARD = 64, 96, 128
_SCALE, _SHIFT, _RMS = 2, 4, 32  # Flags of a norm.
_SOFTMAX = 0x30000
# Of arguments.
_X, _Y, _DX, _DY = 1, 17, 129, 145
_STATISTICS = (49, 50)  # Mean and variance.
_WEIGHTS, _WEIGHT_GRADIENTS = (51, 52), (255, 256)

# From a pass and a cotangent to what to run, in order, and to the results.
Passes = Callable[[str, np.ndarray | None], tuple[list[Callable], list]]


def norm(x, *weights, eps: float, rms: bool = False) -> Passes:
  """layer_norm or rms_norm of rows, with scale and maybe bias."""
  # Of 16 bits it has only slow code for them.
  weights = [w.astype(np.float32) for w in weights]
  flags = _SCALE | _SHIFT * (len(weights) > 1) | _RMS * rms
  options = ctypes.c_float(eps), flags
  indices = _STATISTICS[rms:]

  def passes(direction, dy):
    y = np.empty_like(x)
    kept = {i: np.empty(len(x), np.float32) for i in indices}
    arrays = {_X: x, _Y: y} | dict(zip(_WEIGHTS, weights))
    full, statistic = shape(x), shape(kept[indices[-1]])
    kind = _INFERENCE if direction == "forward" else _TRAINING
    forward = operation(
        "layer_normalization_forward", kind, full, full, statistic, *options
    )
    if kind == _INFERENCE:
      return [bind(forward, arrays)], [y]
    backward = operation(
        "layer_normalization_backward",
        *(_BACKWARD, full, full, full, statistic, *options, forward),
    )
    gradients = [np.empty_like(array) for array in (x, *weights)]
    pulled = {_X: x, _DX: gradients[0], _DY: dy, _WEIGHTS[0]: weights[0]} | kept
    pulled |= dict(zip(_WEIGHT_GRADIENTS, gradients[1:]))
    runs = [bind(forward, arrays | kept), bind(backward, pulled)]
    return runs, [y, *gradients]

  return passes


def softmax(x) -> Passes:
  """softmax of rows."""

  def passes(direction, dy):
    y, dx = np.empty_like(x), np.empty_like(x)
    kind = _INFERENCE if direction == "forward" else _TRAINING
    forward = operation(
        "softmax_forward", kind, _SOFTMAX, shape(x), shape(y), 1
    )
    runs = [bind(forward, {_X: x, _Y: y})]
    if kind == _INFERENCE:
      return runs, [y]
    backward = operation(
        "softmax_backward",
        *(_SOFTMAX, shape(dx), shape(dy), shape(y), 1, forward),
    )
    return [*runs, bind(backward, {_Y: y, _DY: dy, _DX: dx})], [y, dx]

  return passes


def make(name, function, direction, sets) -> Variant:
  """Returns the variant; its results are always in the same memory."""
  del name
  operands, cotangents = ([np.asarray(x) for x in xs] for xs in sets[0])
  runs, arrays = function(*operands)(direction, *cotangents)

  def call():
    for run in runs:
      run()

  if direction == "backward":  # Of what the forward pass has left.
    call()
    wait()
    runs, arrays = runs[1:], arrays[1:]

  def results():
    call()
    wait()
    return [array.astype(operands[0].dtype) for array in arrays]

  return Variant(results, samplers.of_host(call, wait))
