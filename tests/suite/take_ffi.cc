// SPDX-License-Identifier: Apache-2.0
// An integer operand, (n),(k)->(k): y[i] = x[indices[i]], indices clipped.
#include <algorithm>
#include <cstdint>
#include <string>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

HandlerResult Take(CpuContext, ffi::AnyBuffer x, ffi::AnyBuffer indices,
                   ffi::Result<ffi::AnyBuffer> y) {
  Dim n = kUnknownDim, k = kUnknownDim;
  Checks checks;
  checks.Operand("x", x, ffi::F32, {&n});
  checks.Operand("indices", indices, ffi::S32, {&k});
  if (n < 1) checks.Fail("x", "have an element to take", "none");
  const RowMap x_map = checks.Map("x", x, 1);
  const RowMap indices_map = checks.Map("indices", indices, 1);
  checks.Result("y", *y, ffi::F32, {&k});
  if (!checks.ok()) return checks.error();

  const Rows<const float> x_rows{Data<const float>(x), n, x_map};
  const Rows<const int32_t> i_rows{Data<const int32_t>(indices), k,
                                   indices_map};
  float* out = Data<float>(*y);
  for (int64_t row = 0; row < Product(checks.loops()); ++row) {
    for (int64_t i = 0; i < k; ++i) {
      *out++ = x_rows[row][std::clamp<int64_t>(i_rows[row][i], 0, n - 1)];
    }
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_take_fwd, Take,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Arg<ffi::AnyBuffer>()    // indices
                               .Ret<ffi::AnyBuffer>());  // y

}  // namespace xla_ffi_ops
