// SPDX-License-Identifier: Apache-2.0
// Logarithms: Log, Log1p.
//
// With x = 2^k (1 + f) and 1 + f from sqrt(1/2) to sqrt(2), log(x) is k ln(2) +
// log(1 + f). With s = f / (2 + f), log(1 + f) is 2 atanh(s), which is
// f - (f^2 / 2 - s (f^2 / 2 + R)) for R = 2/3 s^2 + 2/5 s^4 + ...
#ifndef XLA_FFI_OPS_VEC_MATH_LOG_H_
#define XLA_FFI_OPS_VEC_MATH_LOG_H_

#include <cstdint>

#include "xla_ffi_ops/vec/math/exp_log_constants.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::math {

namespace internal {

// x = 2^k m, with m from sqrt(1/2) to sqrt(2).
template <typename V>
struct LogParts {
  V k, m;
  Bits<V> exponent;  // k plus the bias of an exponent
};

template <typename V>
XLA_FFI_OPS_HD LogParts<V> SplitLog(V x) {
  constexpr auto one = Element<Bits<V>>{kBias<V>} << kMantissa<V>;
  const auto root = BitCast<Element<Bits<V>>>(Element<V>(0.70710678118654752));
  const Bits<V> bits = BitsOf(x) + (one - root);
  const Bits<V> exponent = bits >> kMantissa<V>;
  const V k = BitCast<V>(exponent + BitCast<Element<Bits<V>>>(kRound<V>)) -
              (kRound<V> + kBias<V>);
  return {k, BitCast<V>(BitsOf(x) + one - (exponent << kMantissa<V>)),
          exponent};
}

// The same for subnormal numbers, too, but for `exponent`.
template <typename V>
XLA_FFI_OPS_HD LogParts<V> SplitAny(V x) {
  constexpr Element<V> kUp = int64_t{1} << (kMantissa<V> + 1);
  const auto is_small = x < Limits<V>::min();
  auto parts = SplitLog(Select(is_small, x * kUp, x));
  parts.k -= Select(is_small, Splat<V>(kMantissa<V> + 1), V{});
  return parts;
}

// k ln(2) + log(1 + f) + low.
template <typename V>
XLA_FFI_OPS_HD V JoinLog(V k, V f, V low) {
  using Constants = xla_ffi_ops::internal::LogConstants<Element<V>>;
  const V s = f / (2 + f);
  const V z = s * s;
  const V square = f * f * Element<V>(0.5);
  const V rest = MulAdd(Polynomial(z, Constants::kRest), z, square);
  const V lower = MulAdd(-s, rest, square) - MulAdd(k, Constants::kLn2Low, low);
  return MulAdd(k, Constants::kLn2High, f - lower);
}

// With s and z = s^2 as above, (log(1 + f) - 2 s) / s^3, right to float.
inline constexpr double kShortLog[] = {
    0x1.555554fdbb6efp-1, 0x1.999a7a46e6d86p-2, 0x1.2438e9d68fa67p-2,
    0x1.e2f39d6220b2dp-3};

// log(x) in double, right to 2^-36, for positive, finite, normal numbers.
template <typename V>
XLA_FFI_OPS_HD V ShortLog(V x) {
  const auto parts = SplitLog(x);
  const V f = parts.m - 1;
  const V s = f / (2 + f);
  const V z = s * s;
  const V tail = z * Polynomial(z, kShortLog) * s;
  return MulAdd(parts.k, 0.69314718055994531, 2 * s + tail);
}

}  // namespace internal

// At most 1 ulp.
template <typename V>
XLA_FFI_OPS_HD V Log(V x) {
  const auto parts = internal::SplitAny(x);
  const V log = internal::JoinLog(parts.k, parts.m - 1, V{});
  const V at_most_zero = Select(x == V{}, Splat<V>(-kInfinity<V>),
                                Splat<V>(Limits<V>::quiet_NaN()));
  return Select(x <= V{}, at_most_zero, Select(x < kInfinity<V>, log, x));
}

// At most 1 ulp.
template <typename V>
XLA_FFI_OPS_HD V Log1p(V x) {
  const V u = 1 + x;
  const auto parts = internal::SplitLog(u);
  // What u lacks, over 2^k. (As 2^(1 - k), it has an exponent for every k.)
  const V lost = Select(x < V{} + 1, x - (u - 1), 1 - (u - x));
  const Bits<V> power = (2 * kBias<V> + 1) - parts.exponent;
  const V scale = BitCast<V>(power << kMantissa<V>);
  // And over 1 + f: 2% are good enough.
  const V f = parts.m - 1;
  const V slope = MulAdd(f, Element<V>(0.993), Element<V>(-1.119));
  const V inverse = MulAdd(f, slope, Element<V>(1));
  const V low = lost * Element<V>(0.5) * scale * inverse;
  const auto is_near = parts.k == V{};
  const V log = internal::JoinLog(parts.k, Select(is_near, x, f),
                                  Select(is_near, V{}, low));
  const V at_most_zero = Select(u == V{}, Splat<V>(-kInfinity<V>),
                                Splat<V>(Limits<V>::quiet_NaN()));
  const V finite = Select(x < kInfinity<V>, log, x);
  const V normal = Select(Abs(x) < Limits<V>::epsilon() / 4, x, finite);
  return Select(u <= V{}, at_most_zero, normal);
}

}  // namespace xla_ffi_ops::math

#endif  // XLA_FFI_OPS_VEC_MATH_LOG_H_
