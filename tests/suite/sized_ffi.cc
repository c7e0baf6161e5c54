// SPDX-License-Identifier: Apache-2.0
// Core dimensions that are fixed, multiples of another, or computed.
#include <cmath>
#include <cstdint>
#include <string>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

// (3),(3)->(3)
HandlerResult Cross(CpuContext, Buffer a, Buffer b, Result c) {
  Dim three = 3;
  Checks checks;
  checks.Operand("a", a, ffi::F32, {&three});
  checks.Operand("b", b, ffi::F32, {&three});
  const Rows<const float> as{Data<const float>(a), 3, checks.Map("a", a, 1)};
  const Rows<const float> bs{Data<const float>(b), 3, checks.Map("b", b, 1)};
  checks.Result("c", *c, ffi::F32, {&three});
  if (!checks.ok()) return checks.error();
  float* out = Data<float>(*c);
  for (int64_t row = 0; row < Product(checks.loops()); ++row) {
    const float *x = as[row], *y = bs[row];
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      *out++ = x[j] * y[k] - x[k] * y[j];
    }
  }
  return ffi::Error::Success();
}

// (2h),(h)->(2h): turns the pairs (x[j], x[j + h]).
HandlerResult Rotate(CpuContext, Buffer x, Buffer angle, Result y) {
  Dim two_h = kUnknownDim;
  Checks checks;
  checks.Operand("x", x, ffi::F32, {&two_h});
  if (two_h % 2 != 0) {
    checks.Fail("x", "have an even number of columns", std::to_string(two_h));
  }
  Dim h = two_h / 2;
  checks.Operand("angle", angle, ffi::F32, {&h});
  const Rows<const float> xs{Data<const float>(x), two_h,
                             checks.Map("x", x, 1)};
  const Rows<const float> angles{Data<const float>(angle), h,
                                 checks.Map("angle", angle, 1)};
  checks.Result("y", *y, ffi::F32, {&two_h});
  if (!checks.ok()) return checks.error();
  float* out = Data<float>(*y);
  for (int64_t row = 0; row < Product(checks.loops()); ++row, out += two_h) {
    for (int64_t j = 0; j < h; ++j) {
      const float c = std::cos(angles[row][j]), s = std::sin(angles[row][j]);
      out[j] = c * xs[row][j] - s * xs[row][j + h];
      out[j + h] = s * xs[row][j] + c * xs[row][j + h];
    }
  }
  return ffi::Error::Success();
}

// ()->(m), m = (l_max + 1)^2: powers of x.
HandlerResult Powers(CpuContext, int64_t l_max, Buffer x, Result y) {
  Checks checks;
  checks.Operand("x", x, ffi::F32, {});
  checks.AtLeast("l_max", l_max, 0);
  constexpr int64_t kBelow = 1 << 20;  // The square fits.
  if (l_max >= kBelow) {
    checks.Fail("l_max", "be below " + std::to_string(kBelow),
                std::to_string(l_max));
  }
  Dim m = checks.ok() ? (l_max + 1) * (l_max + 1) : kUnknownDim;
  checks.Result("y", *y, ffi::F32, {&m});
  if (!checks.ok()) return checks.error();
  const float* in = Data<const float>(x);
  float* out = Data<float>(*y);
  for (int64_t row = 0; row < Product(checks.loops()); ++row) {
    float power = 1;
    for (int64_t j = 0; j < m; ++j, power *= in[row]) *out++ = power;
  }
  return ffi::Error::Success();
}

// (n)->(m), m = n / 2: sums of pairs.
HandlerResult Pairs(CpuContext, Buffer x, Result y) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("x", x, ffi::F32, {&n});
  Dim m = n / 2;
  checks.Result("y", *y, ffi::F32, {&m});
  if (!checks.ok()) return checks.error();
  const float* in = Data<const float>(x);
  float* out = Data<float>(*y);
  for (int64_t row = 0; row < Product(checks.loops()); ++row, in += n) {
    for (int64_t j = 0; j < m; ++j) *out++ = in[2 * j] + in[2 * j + 1];
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_cross_fwd, Cross,
                           .Arg<ffi::AnyBuffer>()        // a
                               .Arg<ffi::AnyBuffer>()    // b
                               .Ret<ffi::AnyBuffer>());  // c

XLA_FFI_OPS_DEFINE_HANDLER(test_rotate_fwd, Rotate,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Arg<ffi::AnyBuffer>()    // angle
                               .Ret<ffi::AnyBuffer>());  // y

XLA_FFI_OPS_DEFINE_HANDLER(test_powers_fwd, Powers,
                           .Attr<int64_t>("l_max")
                               .Arg<ffi::AnyBuffer>()    // x
                               .Ret<ffi::AnyBuffer>());  // y

XLA_FFI_OPS_DEFINE_HANDLER(test_pairs_fwd, Pairs,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Ret<ffi::AnyBuffer>());  // y

}  // namespace xla_ffi_ops
