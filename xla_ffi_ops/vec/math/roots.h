// SPDX-License-Identifier: Apache-2.0
// Cbrt, Rsqrt.
#ifndef XLA_FFI_OPS_VEC_MATH_ROOTS_H_
#define XLA_FFI_OPS_VEC_MATH_ROOTS_H_

#include <cstdint>

#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::math {

// 1 / sqrt(x). At most 1.5 ulp.
template <typename V>
XLA_FFI_OPS_HD V Rsqrt(V x) {
  return 1 / Sqrt(x);
}

// At most 1 ulp.
template <typename V>
XLA_FFI_OPS_HD V Cbrt(V x) {
  // So that neither cubes nor three times them leave the range.
  using E = Element<V>;
  const auto is_small = Abs(x)<E(0x1p-60), is_large = Abs(x)> E(0x1p60);
  const V one = V{} + 1;
  const V scale = Select(is_small, Splat<V>(0x1p66),
                         Select(is_large, Splat<V>(0x1p-66), one));
  const V back = Select(is_small, Splat<V>(0x1p-22),
                        Select(is_large, Splat<V>(0x1p22), one));
  const V a = Abs(x) * scale;
  // The first bits of a, as an integer: a third of them, with the bias of the
  // exponent, is right to 3.2%. The integer is the last bits of a sum.
  constexpr int kCut = kMantissa<V> == 23 ? 9 : 20;
  constexpr E kUnit = int64_t{1} << kMantissa<V>;
  constexpr E kUp =
      (2.0 / 3 * kBias<V> - 0.0337) * (int64_t{1} << (kMantissa<V> - kCut));
  const V bits =
      BitCast<V>((BitsOf(a) >> kCut) | BitCast<Element<Bits<V>>>(kUnit));
  const V third = (bits - kUnit) * E(1.0 / 3) + (kUp + kUnit);
  V root = BitCast<V>(BitsOf(third) << kCut);
  // Each step of Halley's method has three times as many digits.
  constexpr int kSteps = kMantissa<V> == 23 ? 1 : 2;
  for (int i = 0; i < kSteps; ++i) {
    const V cube = root * root * root;
    root *= (cube + 2 * a) / (2 * cube + a);
  }
  // The last one is of a number whose square is exact.
  const V first = HighHalf(root);
  const V rest = a / (first * first);
  const V cbrt = first * ((rest - first) / (2 * first + rest)) + first;
  // 0, infinity and NaN.
  const auto is_plain = Opaque(a > V{}) & Opaque(a < kInfinity<V>);
  return WithSign(Select(is_plain, cbrt * back, Abs(x)), x);
}

}  // namespace xla_ffi_ops::math

#endif  // XLA_FFI_OPS_VEC_MATH_ROOTS_H_
