// SPDX-License-Identifier: Apache-2.0
// Angles less multiples of pi / 2, for trigonometric functions.
#ifndef XLA_FFI_OPS_VEC_MATH_ANGLE_H_
#define XLA_FFI_OPS_VEC_MATH_ANGLE_H_

#include <cmath>
#include <cstdint>

#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::math::internal {

// x = (r + low) + n pi / 2, with |r| of at most pi / 4, or little more. Only
// the two lowest bits of n are kept.
template <typename V>
struct Angle {
  V r, low;
  Bits<V> n;
};

// For finite x from 2^19 on, by the method of Payne and Hanek: of x 2 / pi, the
// multiples of 4 are left out.
[[gnu::noinline, gnu::cold]] inline Angle<double> ReduceHuge(double x) {
  // 2 / pi, after a word of zeros.
  constexpr uint64_t kTwoOverPi[] = {0,
                                     0xa2f9836e4e441529,
                                     0xfc2757d1f534ddc0,
                                     0xdb6295993c439041,
                                     0xfe5163abdebbc561,
                                     0xb7246e3a424dd2e0,
                                     0x06492eea09d1921c,
                                     0xfe1deb1cb129a73e,
                                     0xe88235f52ebb4484,
                                     0xe99c7026b45f7e41,
                                     0x3991d639835339f4,
                                     0x9c845f8bbdf9283b,
                                     0x1ff897ffde05980f,
                                     0xef2f118b5a0a6d1f,
                                     0x6d367ecf27cb09b7,
                                     0x4f463f669e5fea2d,
                                     0x7527bac7ebe5f17b,
                                     0x3d0739f78a5292ea,
                                     0x6bfb5fb11f8d5d08,
                                     0x56033046fc7b6bab};
  using Wide = unsigned __int128;
  if (!(x <= Limits<double>::max())) return {x - x, 0, 0};
  const uint64_t bits = BitsOf(x);
  const uint64_t m = (bits & ((uint64_t{1} << 52) - 1)) | uint64_t{1} << 52;
  // x = m 2^e. Bits of 2 / pi before this one make multiples of 4.
  const int e = static_cast<int>(bits >> 52) - 1075;
  const int first = 64 + e - 2;
  const uint64_t* const words = kTwoOverPi + first / 64;
  uint64_t w[3];
  for (int i = 0; i < 3; ++i) {
    const Wide two = Wide{words[i]} << 64 | words[i + 1];
    w[i] = static_cast<uint64_t>(two >> (64 - first % 64));
  }
  // x 2 / pi is this, over 2^126; wrapped, and cut after 128 bits.
  const Wide product =
      (Wide{w[0] * m} << 64) + Wide{w[1]} * m + (Wide{w[2]} * m >> 64);
  // The two bits before the point are the quadrant, to be rounded.
  const Wide rounded = product + (Wide{1} << 125);
  const __int128 part = static_cast<__int128>(product << 2);
  const double high = static_cast<double>(part);
  const double rest = static_cast<double>(part - static_cast<__int128>(high));
  constexpr double kHigh = 0x1.921fb54442d18p0, kLow = 0x1.1a62633145c07p-54;
  const double r = high * kHigh;
  const double low = std::fma(high, kHigh, -r) + (high * kLow + rest * kHigh);
  return {r * 0x1p-128, low * 0x1p-128, static_cast<uint64_t>(rounded >> 126)};
}

// For vectors x of at least 0, in double. The angle is right to 2^-60 of
// itself, if there is a `low`; without, to 2^-40, for values of float.
template <bool with_low, typename V>
XLA_FFI_OPS_HD Angle<V> Reduce(V x) {
  // pi / 2 in parts of 33 bits, whose products with n are exact, and the rest.
  constexpr double kFirst = 0x1.921fb544p0, kSecond = 0x1.0b4611a6p-34;
  constexpr double kThird = 0x1.3198a2e037073p-69;
  constexpr double kRest = 0x1.0b4611a626331p-34;  // of the first part
  constexpr double kMost = 1 << 20;
  Angle<V> angle;
  const V rounded = MulAdd(x, 0.63661977236758134, kRound<V>);
  const V n = rounded - kRound<V>;
  const V a = MulAdd(n, -kFirst, x);
  angle.n = BitsOf(rounded);
  if constexpr (with_low) {
    const V b = MulAdd(n, -kSecond, a);
    const V back = b - a;
    const V lost = (a - (b - back)) - MulAdd(n, kSecond, back);
    angle.r = MulAdd(n, -kThird, b);
    angle.low = MulAdd(n, -kThird, b - angle.r) + lost;
  } else {
    angle.r = MulAdd(n, -kRest, a);
    angle.low = V{};
  }
  if (__builtin_expect(Any(x > kMost), false)) {
    constexpr int kLanes = sizeof(V) / sizeof(double);
    for (int i = 0; i < kLanes; ++i) {
      if (!(x[i] > kMost)) continue;
      const Angle<double> huge = ReduceHuge(x[i]);
      angle.r[i] = huge.r;
      angle.low[i] = huge.low;
      angle.n[i] = huge.n;
    }
  }
  return angle;
}

}  // namespace xla_ffi_ops::math::internal

#endif  // XLA_FFI_OPS_VEC_MATH_ANGLE_H_
