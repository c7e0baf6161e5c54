// SPDX-License-Identifier: Apache-2.0
// Running sums, (n)->(n). The Python side declares it without a reference.
#include <cstdint>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

HandlerResult CumSum(CpuContext, ffi::AnyBuffer x,
                     ffi::Result<ffi::AnyBuffer> y) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("x", x, ffi::F64, {&n});
  checks.Result("y", *y, ffi::F64, {&n});
  if (!checks.ok()) return checks.error();

  const double* in = Data<const double>(x);
  double* out = Data<double>(*y);
  for (int64_t row = 0; row < Product(checks.loops()); ++row) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) *out++ = sum += *in++;
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_cumsum_fwd, CumSum,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Ret<ffi::AnyBuffer>());  // y

}  // namespace xla_ffi_ops
