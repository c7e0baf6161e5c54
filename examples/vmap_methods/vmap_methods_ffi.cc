// SPDX-License-Identifier: Apache-2.0
// y[...] = sum of x[..., d] * w[..., d], and a count of the calls.
#include <atomic>
#include <cstdint>
#include <numeric>

#include "xla_ffi_ops/ffi.h"

namespace {

namespace ffi = xla::ffi;

std::atomic<int32_t> calls{0}, rows_of_w{0}, rank_of_w{0};

// Each of x and w has the leading dimensions in full or as 1, or none at all:
// all methods but the sequential ones need a handler that broadcasts so.
xla_ffi_ops::HandlerResult Dot(xla_ffi_ops::CpuContext, ffi::AnyBuffer x,
                               ffi::AnyBuffer w,
                               ffi::Result<ffi::AnyBuffer> y) {
  xla_ffi_ops::Dim d = xla_ffi_ops::kUnknownDim;
  xla_ffi_ops::Checks checks;
  checks.Operand("x", x, ffi::F32, {&d});
  checks.Operand("w", w, ffi::F32, {&d});
  const xla_ffi_ops::RowMap x_map = checks.Map("x", x, 1);
  const xla_ffi_ops::RowMap w_map = checks.Map("w", w, 1);
  checks.Result("y", *y, ffi::F32, {});
  if (!checks.ok()) return checks.error();
  ++calls;
  rank_of_w = w.dimensions().size();
  rows_of_w =
      xla_ffi_ops::Product(w.dimensions().first(w.dimensions().size() - 1));
  const float* const x_data = xla_ffi_ops::Data<float>(x);
  const float* const w_data = xla_ffi_ops::Data<float>(w);
  float* const out = xla_ffi_ops::Data<float>(*y);
  for (int64_t i = 0; i < xla_ffi_ops::Product(checks.loops()); ++i) {
    const float* const row = x_data + x_map(i) * d;
    out[i] = std::inner_product(row, row + d, w_data + w_map(i) * d, 0.0f);
  }
  return ffi::Error::Success();
}

// The number of calls so far; and the rank of w and its rows in the last one.
xla_ffi_ops::HandlerResult Calls(xla_ffi_ops::CpuContext,
                                 ffi::ResultBufferR0<ffi::S32> count,
                                 ffi::ResultBufferR0<ffi::S32> rank,
                                 ffi::ResultBufferR0<ffi::S32> rows) {
  *count->typed_data() = calls;
  *rank->typed_data() = rank_of_w;
  *rows->typed_data() = rows_of_w;
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(example_dot_fwd, Dot,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Arg<ffi::AnyBuffer>()    // w
                               .Ret<ffi::AnyBuffer>());  // y
XLA_FFI_OPS_DEFINE_HANDLER(example_dot_calls, Calls,
                           .Ret<ffi::BufferR0<ffi::S32>>()
                               .Ret<ffi::BufferR0<ffi::S32>>()
                               .Ret<ffi::BufferR0<ffi::S32>>());
