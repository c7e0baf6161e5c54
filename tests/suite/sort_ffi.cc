// SPDX-License-Identifier: Apache-2.0
// Sorts, (n)->(n). The Python side declares it without a reference.
#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

HandlerResult Sort(CpuContext, ffi::AnyBuffer x,
                   ffi::Result<ffi::AnyBuffer> y) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("x", x, ffi::F64, {&n});
  checks.Result("y", *y, ffi::F64, {&n});
  if (!checks.ok()) return checks.error();

  const double* in = Data<const double>(x);
  double* out = Data<double>(*y);
  std::copy_n(in, x.element_count(), out);
  for (int64_t row = 0; row < Product(checks.loops()); ++row, out += n) {
    std::sort(out, out + n);
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_sort_fwd, Sort,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Ret<ffi::AnyBuffer>());  // y

}  // namespace xla_ffi_ops
