// SPDX-License-Identifier: Apache-2.0
// Hyperbolic functions: Tanh, Sinh, Cosh.
#ifndef XLA_FFI_OPS_KIT_MATH_HYPERBOLIC_H_
#define XLA_FFI_OPS_KIT_MATH_HYPERBOLIC_H_

#include "xla_ffi_ops/kit/math/exp.h"
#include "xla_ffi_ops/kit/math/vector.h"

namespace xla_ffi_ops::math {

namespace internal {

// (tanh(x) - x) / x^3 as a polynomial of x^2, for |x| of at most 0.9.
inline constexpr float kTanh[] = {
    -0x1.55554ep-2f, 0x1.110f3ap-3f,  -0x1.b9cabcp-5f, 0x1.62f5e4p-6f,
    -0x1.0ee97cp-7f, 0x1.52e5b4p-9f, -0x1.deb782p-12f};

}  // namespace internal

// At most 1 ulp for float, 2 for double.
template <typename V>
XLA_FFI_OPS_HD V Tanh(V x) {
  const V a = Abs(x);
  if constexpr (sizeof(Element<V>) == 4) {
    const V most = Fill<V>(10);  // Its tanh is rounded to 1.
    const V twice = 2 * Select(a > most, most, a);
    const auto exp = internal::SplitExp(twice);
    const V large = 1 - 2 / (exp.scale * exp.significand + 1);
    const V z = a * a;
    const V small = a * z * Polynomial(z, internal::kTanh) + a;
    return WithSign(Select(a < 0.9f, small, large), x);
  } else {
    const V most = Fill<V>(20);
    const V half = internal::HalfExpm1(2 * Select(a > most, most, a));
    const V whole = half + 1;
    const V lost = half - (whole - 1);
    const V tanh = half / whole;
    return WithSign(tanh - tanh * lost * (1 - tanh), x);
  }
}

}  // namespace xla_ffi_ops::math

#endif  // XLA_FFI_OPS_KIT_MATH_HYPERBOLIC_H_
