// SPDX-License-Identifier: Apache-2.0
// y[n, d] = x[n, d] * w[d], or w[n, d]; and the derivatives, with w[d].
#include <algorithm>
#include <cstdint>
#include <string>

#include "xla_ffi_ops/ffi.h"

namespace {

namespace ffi = xla::ffi;

using Matrix = ffi::BufferR2<ffi::F32>;
using Vector = ffi::BufferR1<ffi::F32>;

// Leading dimensions that w has, too, are rows for XLA to split.
xla_ffi_ops::HandlerResult Forward(xla_ffi_ops::CpuContext, ffi::AnyBuffer x,
                                   ffi::AnyBuffer w,
                                   ffi::Result<ffi::AnyBuffer> y) {
  xla_ffi_ops::Dim d = xla_ffi_ops::kUnknownDim;
  xla_ffi_ops::Checks checks;
  checks.Operand("x", x, ffi::F32, {&d});
  checks.Operand("w", w, ffi::F32, {&d});
  const xla_ffi_ops::RowMap x_map = checks.Map("x", x, 1);
  const xla_ffi_ops::RowMap w_map = checks.Map("w", w, 1);
  checks.Result("y", *y, ffi::F32, {&d});
  if (!checks.ok()) return checks.error();
  float* out = xla_ffi_ops::Data<float>(*y);
  for (int64_t i = 0; i < xla_ffi_ops::Product(checks.loops()); ++i) {
    const float* const row = xla_ffi_ops::Data<float>(x) + x_map(i) * d;
    const float* const weights = xla_ffi_ops::Data<float>(w) + w_map(i) * d;
    for (int64_t j = 0; j < d; ++j) *out++ = row[j] * weights[j];
  }
  return ffi::Error::Success();
}

// dw is the sum over the rows that the handler has.
xla_ffi_ops::HandlerResult Backward(xla_ffi_ops::CpuContext, Matrix x, Vector w,
                                    Matrix dy, ffi::Result<Matrix> dx,
                                    ffi::Result<Vector> dw) {
  const int64_t n = x.dimensions()[0], d = x.dimensions()[1];
  const auto like_x = [&](const ffi::AnyBuffer::Dimensions& shape) {
    return shape[0] == n && shape[1] == d;
  };
  if (w.dimensions()[0] != d || dw->dimensions()[0] != d ||
      !like_x(dy.dimensions()) || !like_x(dx->dimensions())) {
    return ffi::Error::InvalidArgument(
        "dy and dx must be [n, d] as x, and w and dw [d], got x " +
        xla_ffi_ops::ToString(x.dimensions()) + ", w " +
        xla_ffi_ops::ToString(w.dimensions()) + ", dy " +
        xla_ffi_ops::ToString(dy.dimensions()) + ", dx " +
        xla_ffi_ops::ToString(dx->dimensions()) + ", dw " +
        xla_ffi_ops::ToString(dw->dimensions()));
  }
  float* const sums = dw->typed_data();
  std::fill(sums, sums + d, 0.0f);
  for (int64_t i = 0; i < n * d; ++i) {
    dx->typed_data()[i] = dy.typed_data()[i] * w.typed_data()[i % d];
    sums[i % d] += dy.typed_data()[i] * x.typed_data()[i];
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(example_scale_fwd, Forward,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Arg<ffi::AnyBuffer>()    // w
                               .Ret<ffi::AnyBuffer>());  // y
XLA_FFI_OPS_DEFINE_HANDLER(example_scale_gradient, Backward,
                           .Arg<Matrix>()        // x
                               .Arg<Vector>()    // w
                               .Arg<Matrix>()    // dy
                               .Ret<Matrix>()    // dx
                               .Ret<Vector>());  // dw
