// SPDX-License-Identifier: Apache-2.0
// A recurrence, (n),(n)->(n): h[t] = a[t] h[t-1] + b[t], or with h[t+1].
#include <cstdint>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

HandlerResult Recurrence(CpuContext, bool reverse, ffi::AnyBuffer a,
                         ffi::AnyBuffer b, ffi::Result<ffi::AnyBuffer> h) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, ffi::F32, {&n});
  checks.Operand("b", b, ffi::F32, {&n});
  const Rows<const float> as{Data<const float>(a), n, checks.Map("a", a, 1)};
  const Rows<const float> bs{Data<const float>(b), n, checks.Map("b", b, 1)};
  checks.Result("h", *h, ffi::F32, {&n});
  if (!checks.ok()) return checks.error();
  float* out = Data<float>(*h);
  for (int64_t row = 0; row < Product(checks.loops()); ++row, out += n) {
    float last = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t t = reverse ? n - 1 - i : i;
      out[t] = last = as[row][t] * last + bs[row][t];
    }
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_recurrence_fwd, Recurrence,
                           .Attr<bool>("reverse")
                               .Arg<ffi::AnyBuffer>()    // a
                               .Arg<ffi::AnyBuffer>()    // b
                               .Ret<ffi::AnyBuffer>());  // h

XLA_FFI_OPS_DEFINE_HANDLER(test_recurrence_by_rule_fwd, Recurrence,
                           .Attr<bool>("reverse")
                               .Arg<ffi::AnyBuffer>()    // a
                               .Arg<ffi::AnyBuffer>()    // b
                               .Ret<ffi::AnyBuffer>());  // h

}  // namespace xla_ffi_ops
