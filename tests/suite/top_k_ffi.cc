// SPDX-License-Identifier: Apache-2.0
// The k largest elements, (n)->(k),(k), and where they are.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

HandlerResult TopK(CpuContext, int64_t k, ffi::AnyBuffer x,
                   ffi::Result<ffi::AnyBuffer> values,
                   ffi::Result<ffi::AnyBuffer> indices) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("x", x, ffi::F32, {&n});
  if (k < 0 || k > n) {
    checks.Fail("k", "be at most the size of x", std::to_string(k));
  }
  checks.Result("values", *values, ffi::F32, {&k});
  checks.Result("indices", *indices, ffi::S32, {&k});
  if (!checks.ok()) return checks.error();

  const float* in = Data<const float>(x);
  std::vector<int32_t> order(n);
  for (int64_t row = 0; row < Product(checks.loops()); ++row, in += n) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [in](int32_t a, int32_t b) { return in[a] > in[b]; });
    for (int64_t i = 0; i < k; ++i) {
      Data<float>(*values)[row * k + i] = in[order[i]];
      Data<int32_t>(*indices)[row * k + i] = order[i];
    }
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_top_k_fwd, TopK,
                           .Attr<int64_t>("k")
                               .Arg<ffi::AnyBuffer>()    // x
                               .Ret<ffi::AnyBuffer>()    // values
                               .Ret<ffi::AnyBuffer>());  // indices

}  // namespace xla_ffi_ops
