// SPDX-License-Identifier: Apache-2.0
// Attributes of all kinds, ()->(): y = scale x^lowest sum_k coefficients[k]
// x^k, negated, and 1 / (1 + y^2) for the form "bell".
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

HandlerResult Polynomial(CpuContext, ffi::Span<const double> coefficients,
                         std::string_view form, int32_t lowest, bool negated,
                         float scale, ffi::AnyBuffer x,
                         ffi::Result<ffi::AnyBuffer> y) {
  Checks checks;
  checks.Operand("x", x, ffi::F32, {});
  if (form != "plain" && form != "bell") {
    checks.Fail("form", "be plain or bell", std::string(form));
  }
  checks.Result("y", *y, ffi::F32, {});
  if (!checks.ok()) return checks.error();

  const float* in = Data<const float>(x);
  float* out = Data<float>(*y);
  for (int64_t i = 0; i < Product(checks.loops()); ++i) {
    float sum = 0;
    for (size_t k = coefficients.size(); k-- > 0;) {
      sum = sum * in[i] + static_cast<float>(coefficients[k]);
    }
    float value = scale * std::pow(in[i], static_cast<float>(lowest)) * sum;
    if (negated) value = -value;
    out[i] = form == "bell" ? 1 / (1 + value * value) : value;
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_polynomial_fwd, Polynomial,
                           .Attr<ffi::Span<const double>>("coefficients")
                               .Attr<std::string_view>("form")
                               .Attr<int32_t>("lowest")
                               .Attr<bool>("negated")
                               .Attr<float>("scale")
                               .Arg<ffi::AnyBuffer>()    // x
                               .Ret<ffi::AnyBuffer>());  // y

}  // namespace xla_ffi_ops
