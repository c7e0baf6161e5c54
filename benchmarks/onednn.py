# SPDX-License-Identifier: Apache-2.0
"""Peers of oneDNN on the CPU, by its C interface: norms and softmax of rows.

It takes the libdnnl.so.3 that the loader finds. That of PyPI is in the folder
lib of an environment, and needs OCL_ICD_FILENAMES=.../lib/libintelocl.so too.
"""

from collections.abc import Callable, Mapping
import ctypes
import functools

import numpy as np

import timing
from variants import Variant

_TRAINING, _INFERENCE, _BACKWARD = 64, 96, 128
_SCALE, _SHIFT, _RMS = 2, 4, 32  # Flags of a norm.
_SOFTMAX = 0x30000
_DTYPES = {"float16": 1, "bfloat16": 2, "float32": 3}
# Of arguments.
_X, _Y, _DX, _DY = 1, 17, 129, 145
_STATISTICS = (49, 50)  # Mean and variance.
_WEIGHTS, _WEIGHT_GRADIENTS = (51, 52), (255, 256)

# From a pass and a cotangent to what to run, in order, and to the results.
Passes = Callable[[str, np.ndarray | None], tuple[list[Callable], list]]


class _Argument(ctypes.Structure):
  _fields_ = [("index", ctypes.c_int), ("memory", ctypes.c_void_p)]


@functools.cache
def is_installed() -> bool:
  try:
    ctypes.CDLL("libdnnl.so.3")
    _engine()
  except (OSError, RuntimeError):
    return False
  return True


def _call(name, *arguments):
  if status := getattr(ctypes.CDLL("libdnnl.so.3"), name)(*arguments):
    raise RuntimeError(f"{name} returned {status}")


def _made(name, *arguments):
  made = ctypes.c_void_p()
  _call("dnnl_" + name, ctypes.byref(made), *arguments)
  return made


@functools.cache
def _engine():
  return _made("engine_create", 1, ctypes.c_size_t(0))  # 1: the CPU.


@functools.cache
def _stream():
  return _made("stream_create", _engine(), 1)  # 1: in order.


def _shape(array):
  sizes = (ctypes.c_int64 * array.ndim)(*array.shape)
  # One, two... axes with the last one innermost are the kinds 2, 3...
  kind = _DTYPES[array.dtype.name], array.ndim + 1
  return _made("memory_desc_create_with_tag", array.ndim, sizes, *kind)


def _operation(name, *arguments):
  """Returns the description of an operation, whose last argument is left out."""
  return _made(f"{name}_primitive_desc_create", _engine(), *arguments, None)


def _bind(operation, arrays: Mapping[int, np.ndarray]) -> Callable[[], None]:
  """Returns a function that runs it; the arrays are those of its arguments."""
  primitive = _made("primitive_create", operation)
  arguments = (_Argument * len(arrays))()
  for i, (index, array) in enumerate(arrays.items()):
    data = ctypes.c_void_p(array.ctypes.data)
    memory = _made("memory_create", _shape(array), _engine(), data)
    arguments[i] = _Argument(index, memory)

  def run():
    where = primitive, _stream(), len(arrays), arguments
    _call("dnnl_primitive_execute", *where)

  run.arrays = arrays  # They live as long.
  return run


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
    shape, statistic = _shape(x), _shape(kept[indices[-1]])
    kind = _INFERENCE if direction == "forward" else _TRAINING
    forward = _operation(
        "layer_normalization_forward", kind, shape, shape, statistic, *options
    )
    if kind == _INFERENCE:
      return [_bind(forward, arrays)], [y]
    backward = _operation(
        "layer_normalization_backward",
        *(_BACKWARD, shape, shape, shape, statistic, *options, forward),
    )
    gradients = [np.empty_like(array) for array in (x, *weights)]
    pulled = {_X: x, _DX: gradients[0], _DY: dy, _WEIGHTS[0]: weights[0]} | kept
    pulled |= dict(zip(_WEIGHT_GRADIENTS, gradients[1:]))
    runs = [_bind(forward, arrays | kept), _bind(backward, pulled)]
    return runs, [y, *gradients]

  return passes


def softmax(x) -> Passes:
  """softmax of rows."""

  def passes(direction, dy):
    y, dx = np.empty_like(x), np.empty_like(x)
    kind = _INFERENCE if direction == "forward" else _TRAINING
    forward = _operation(
        "softmax_forward", kind, _SOFTMAX, _shape(x), _shape(y), 1
    )
    runs = [_bind(forward, {_X: x, _Y: y})]
    if kind == _INFERENCE:
      return runs, [y]
    backward = _operation(
        "softmax_backward",
        *(_SOFTMAX, _shape(dx), _shape(dy), _shape(y), 1, forward),
    )
    return [*runs, _bind(backward, {_Y: y, _DY: dy, _DX: dx})], [y, dx]

  return passes


def make(name, function, direction, sets) -> Variant:
  """Returns the variant; its results are always in the same memory."""
  del name
  operands, cotangents = ([np.asarray(x) for x in xs] for xs in sets[0])
  runs, arrays = function(*operands)(direction, *cotangents)

  def call():
    for run in runs:
      run()

  def wait(_=None):
    _call("dnnl_stream_wait", _stream())

  if direction == "backward":  # Of what the forward pass has left.
    call()
    wait()
    runs, arrays = runs[1:], arrays[1:]

  def results():
    call()
    wait()
    return [array.astype(operands[0].dtype) for array in arrays]

  samplers = {
      "call": lambda _: timing.waited(call, wait),
      "program": lambda _: timing.enqueued(timing.repeated(call), wait),
  }
  return Variant(results, samplers)
