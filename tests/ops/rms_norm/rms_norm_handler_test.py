# SPDX-License-Identifier: Apache-2.0
"""Wrong calls of the FFI targets of rms_norm: an error each, never a crash."""

from absl.testing import absltest
from absl.testing import parameterized
from ffi_calls import Buffer
from ffi_calls import Call
from ffi_calls import near_shapes
import jax
import numpy as np

import jax_ffi_ops as _  # noqa: F401

jax.config.update("jax_enable_x64", True)

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_OTHER_DTYPES = (
    *("bool", "int2", "int4", "int8", "int16", "int32", "int64"),
    *("uint2", "uint4", "uint8", "uint16", "uint32", "uint64"),
    *("float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz"),
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    *("float8_e8m0fnu", "complex64", "complex128"),
)

# No size becomes 1, which would broadcast, when it changes by one.
_ROW = Buffer((3, 4, 7))
_RSTD = Buffer((3, 4))


def _fwd(target, **scales):
  operands = {"x": _ROW, **scales}
  results = {"y": _ROW, "rstd": _RSTD}
  return Call(target, operands, results, {"eps": np.float64(0.5)})


def _bwd(target, batch_rank=0, **scales):
  operands = {"x": _ROW, **scales, "rstd": _RSTD, "dy": _ROW}
  results = {"dx": _ROW, **{f"d{name}": b for name, b in scales.items()}}
  attributes = {"eps": np.float64(0.5), "batch_rank": np.int64(batch_rank)}
  call = Call(target, operands, results, attributes)
  return call.with_workspaces()


_CALLS = {
    "fwd": _fwd("xla_ffi_ops_rms_norm_fwd", scale=Buffer((7,))),
    "bwd": _bwd("xla_ffi_ops_rms_norm_bwd", scale=Buffer((7,))),
    "batched_bwd": _bwd("xla_ffi_ops_rms_norm_bwd", 1, scale=Buffer((3, 7))),
    "unscaled_fwd": _fwd("xla_ffi_ops_rms_norm_unscaled_fwd"),
    "unscaled_bwd": _bwd("xla_ffi_ops_rms_norm_unscaled_bwd"),
}


# In the backward pass, operands may lack loop dimensions or have them as 1:
# rms_norm_handler_values_test.py has these calls.
_BROADCAST = {
    "x": {(7,), (1, 4, 7), (3, 1, 7)},
    "dy": {(7,), (1, 4, 7), (3, 1, 7)},
    "rstd": {(), (1, 4), (3, 1)},
    "scale": {(7,), (1, 7)},  # of (3, 7)
}


def _wrong_buffers(call, name, buffer):
  shapes = near_shapes(buffer.shape)
  if name in call.operands and "dx" in call.results and buffer.shape != (7,):
    shapes -= _BROADCAST[name]
  dtypes = _OTHER_DTYPES + _FLOATS
  if name == "scale" and "dscale" not in call.results:
    dtypes = _OTHER_DTYPES
  yield from (buffer._replace(shape=shape) for shape in sorted(shapes))
  for dtype in dtypes:
    if dtype != buffer.dtype:
      yield buffer._replace(dtype=dtype)


def _wrong_buffer_calls():
  for key, call in _CALLS.items():
    for name, buffer in call.buffers.items():
      # x is right on its own, so that it is the others that disagree with it.
      named = "|".join(call.buffers) if name == "x" else f"d?{name}"
      for wrong in _wrong_buffers(call, name, buffer):
        shape = "x".join(map(str, wrong.shape))
        label = f"_{key}_{name}_{wrong.dtype}_{shape or 'scalar'}"
        yield label, call.replace(**{name: wrong}), named


def _wrong_number_calls():
  for key, call in _CALLS.items():
    for label, wrong in call.wrong_numbers():
      yield f"_{key}_{label}", wrong


def _wrong_attribute_calls():
  for key, call in _CALLS.items():
    for label, wrong in call.wrong_attributes():
      yield f"_{key}_{label}", wrong


def _bad_value_calls():
  values = {
      "eps": (-1.0, -1e-9, float("nan"), float("-inf")),
      "batch_rank": (-1, 3, 2**62, -(2**63)),
  }
  for key, call in _CALLS.items():
    for name, right in call.attributes.items():
      for value in values[name]:
        attributes = call.attributes | {name: type(right)(value)}
        wrong = call._replace(attributes=attributes)
        yield f"_{key}_{name}_{value}", wrong, name


class RmsNormHandlerTest(parameterized.TestCase):

  def check(self, call, message):
    pattern = f"^INVALID_ARGUMENT: {call.target}: {message}"
    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, pattern):
      call.run()

  # All others differ from these in one thing.
  @parameterized.named_parameters(
      (f"_{key}", call) for key, call in _CALLS.items()
  )
  def test_right(self, call):
    call.run()

  @parameterized.named_parameters(*_wrong_buffer_calls())
  def test_wrong_buffer(self, call, named):
    self.check(call, rf"({named}) must (have|be) .+, got .+")

  @parameterized.named_parameters(*_wrong_number_calls())
  def test_wrong_number(self, call):
    # One result more may be the workspace.
    self.check(
        call,
        r"(.*Wrong number of \w+: expected (at least )?\d but got \d"
        "|workspace must be a result for CUDA alone, got one"
        r"|workspace must have .+, got .+)",
    )

  @parameterized.named_parameters(*_wrong_attribute_calls())
  def test_wrong_attribute(self, call):
    self.check(call, r".*(Wrong number of attributes|Failed to decode)")

  @parameterized.named_parameters(*_bad_value_calls())
  def test_bad_value_of_attribute(self, call, name):
    self.check(call, rf"{name} must be .+, got .+")

  @parameterized.product(key=tuple(_CALLS), row=_FLOATS, rstd=_FLOATS)
  def test_dtype_of_rstd(self, key, row, rstd):
    buffers = _CALLS[key].buffers
    dtypes = dict.fromkeys(("x", "y", "dx", "dy"), row) | {"rstd": rstd}
    call = (
        _CALLS[key]
        .replace(
            **{
                name: buffers[name]._replace(dtype=dtype)
                for name, dtype in dtypes.items()
                if name in buffers
            }
        )
        .with_workspaces()
    )
    if rstd == ("float64" if row == "float64" else "float32"):
      call.run()
    else:
      self.check(call, f"rstd must have dtype float(32|64), got {rstd}")

  @parameterized.parameters("x", "rstd", "dy")
  def test_too_many_separate_broadcasts(self, name):
    loops = (2,) * 9
    alternating = (2, 1) * 4 + (2,)
    call = _bwd("xla_ffi_ops_rms_norm_unscaled_bwd").replace(
        x=Buffer((*loops, 7)),
        rstd=Buffer(loops),
        dy=Buffer((*loops, 7)),
        dx=Buffer((*loops, 7)),
    )
    call.run()
    core = call.buffers[name].shape[9:]
    wrong = call.replace(**{name: Buffer(alternating + core)})
    self.check(wrong, f"{name} must be broadcast along fewer separate dim")

  def test_batch_rank_of_scale_in_between(self):
    call = _bwd("xla_ffi_ops_rms_norm_bwd", 2, scale=Buffer((3, 7)))
    self.check(call, "scale must have leading dimensions .+, got .+")


if __name__ == "__main__":
  absltest.main()
