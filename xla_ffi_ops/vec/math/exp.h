// SPDX-License-Identifier: Apache-2.0
// Exponential functions: Exp, Exp2, Expm1, Logistic.
//
// With x = n ln(2) + r and |r| <= ln(2) / 2, exp(x) is 2^n (1 + r + r^2 R(r)).
#ifndef XLA_FFI_OPS_VEC_MATH_EXP_H_
#define XLA_FFI_OPS_VEC_MATH_EXP_H_

#include <cstdint>

#include "xla_ffi_ops/vec/math/exp_log_constants.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::math {

namespace internal {

template <typename V>
using ExpConstants = xla_ffi_ops::internal::ExpConstants<Element<V>>;

// Its lowest bits are round(x) plus the bias of an exponent.
template <typename V>
inline constexpr Element<V> kRoundExponent = kRound<V> + kBias<V>;

// 2^n, from the sum n + kRoundExponent.
template <typename V>
XLA_FFI_OPS_HD V PowerOfTwo(V rounded) {
  return BitCast<V>(BitsOf(rounded) << kMantissa<V>);
}

// exp(x + low) = scale * significand.
template <typename V>
struct ExpParts {
  V scale, significand;
};

// 1 + r + r^2 R(r).
template <typename V>
XLA_FFI_OPS_HD V OnePlus(V r) {
  const V sum = 1 + r;
  const V lost = r - (sum - 1);
  return sum + MulAdd(Polynomial(r, ExpConstants<V>::kRest) * r, r, lost);
}

// `low` may be left out.
template <typename V, typename... Low>
XLA_FFI_OPS_HD ExpParts<V> SplitExp(V x, Low... low) {
  using Constants = ExpConstants<V>;
  const V rounded =
      MulAdd(x, Element<V>(1.4426950408889634), kRoundExponent<V>);
  const V n = rounded - kRoundExponent<V>;
  const V high = MulAdd(n, -Constants::kLn2High, x);
  V r;
  if constexpr (sizeof...(low) == 0) {
    r = MulAdd(n, -Constants::kLn2Low, high);
  } else {
    r = high - MulAdd(n, Constants::kLn2Low, (-low + ...));
  }
  return {PowerOfTwo(rounded), OnePlus(r)};
}

// R for Expm1, where it matters more. For double it is the same.
inline constexpr float kExpm1[] = {0x1p-1f,         0x1.555556p-3f,
                                   0x1.5554f6p-5f,  0x1.111002p-7f,
                                   0x1.6d3c7cp-10f, 0x1.a24776p-13f};

template <typename V>
XLA_FFI_OPS_HD V Expm1Rest(V r) {
  if constexpr (sizeof(Element<V>) == 4) {
    return Polynomial(r, kExpm1);
  } else {
    return Polynomial(r, ExpConstants<V>::kRest);
  }
}

// (exp(x) - 1) / 4, for x from -40 to where twice that overflows.
template <typename V>
XLA_FFI_OPS_HD V QuarterExpm1(V x) {
  using Constants = ExpConstants<V>;
  const V rounded =
      MulAdd(x, Element<V>(1.4426950408889634), kRoundExponent<V>);
  const V n = rounded - kRoundExponent<V>;
  const V high = MulAdd(n, -Constants::kLn2High, x);
  const V r = MulAdd(n, -Constants::kLn2Low, high);
  const V low = MulAdd(n, -Constants::kLn2Low, high - r);
  const V q = MulAdd(Expm1Rest(r) * r, r, low);
  // scale r + (scale - 1 / 4), with its rounding error: scale r is exact.
  const V scale = PowerOfTwo(rounded - 2);
  const V ones = scale - Element<V>(0.25);
  const V sum = MulAdd(scale, r, ones);
  const V error = MulAdd(scale, r, ones - sum);
  return sum + MulAdd(scale, q, error);
}

// exp(x) in double, right to 2^-31, for x from -700 to 700.
template <typename V>
XLA_FFI_OPS_HD V ShortExp(V x) {
  const V rounded = MulAdd(x, 1.4426950408889634, kRoundExponent<V>);
  const V n = rounded - kRoundExponent<V>;
  const V r = MulAdd(n, -0.69314718055994531, x);
  return PowerOfTwo(rounded) * (1 + MulAdd(Polynomial(r, kExpm1) * r, r, r));
}

// The largest x whose exp(x) is finite.
template <typename V>
inline constexpr Element<V> kMostExp =
    sizeof(Element<V>) == 4 ? 0x1.62e42ep6 : 0x1.62e42fefa39efp9;

template <typename V, typename... Low>
XLA_FFI_OPS_HD V ExpOf(V x, Low... low) {
  const auto parts = SplitExp(x, low...);
  // The sum of the exponents, since 2^128 is no float.
  const V exp = BitCast<V>(BitsOf(parts.significand) + BitsOf(parts.scale) -
                           (Element<Bits<V>>{kBias<V>} << kMantissa<V>));
  const V finite = Select(x <= kMostExp<V>, exp, x + kInfinity<V>);
  return Select(x < ExpConstants<V>::kLeast, V{}, finite);
}

}  // namespace internal

// At most 1 ulp.
template <typename V>
XLA_FFI_OPS_HD V Exp(V x) {
  return internal::ExpOf(x);
}

// At most 1 ulp.
template <typename V>
XLA_FFI_OPS_HD V Exp2(V x) {
  const V rounded = x + internal::kRoundExponent<V>;
  const V n = rounded - internal::kRoundExponent<V>;
  const V r = (x - n) * Element<V>(0.69314718055994531);
  const V significand = internal::OnePlus(r);
  const V exp = BitCast<V>(BitsOf(significand) +
                           (BitsOf(rounded) << kMantissa<V>)-(
                               Element<Bits<V>>{kBias<V>} << kMantissa<V>));
  const V finite = Select(x < kBias<V> + 1, exp, x + kInfinity<V>);
  return Select(x < 1 - kBias<V>, V{}, finite);
}

// At most 1.1 ulp.
template <typename V>
XLA_FFI_OPS_HD V Expm1(V x) {
  const V least = Splat<V>(-40);
  const V quarter = internal::QuarterExpm1(Select(x < least, least, x));
  const V finite =
      Select(x <= internal::kMostExp<V>, 4 * quarter, x + kInfinity<V>);
  return Select(Abs(x) < Limits<V>::epsilon() / 4, x, finite);
}

// 1 / (1 + exp(-x)). At most 1 ulp with FMA, and 1.3 without.
template <typename V>
XLA_FFI_OPS_HD V Logistic(V x) {
  // Between these, the exponential function is normal, and so is its inverse.
  const V most = Splat<V>(-internal::ExpConstants<V>::kLeast);
  const V t = Select(x > most, -most, Select(x < -most, most, -x));
  // exp(t) = scale (sum + rest)
  using Constants = internal::ExpConstants<V>;
  const V rounded =
      MulAdd(t, Element<V>(1.4426950408889634), internal::kRoundExponent<V>);
  const V n = rounded - internal::kRoundExponent<V>;
  const V r =
      MulAdd(n, -Constants::kLn2Low, MulAdd(n, -Constants::kLn2High, t));
  const V one = 1 + r;
  const V q = MulAdd(Polynomial(r, Constants::kRest) * r, r, r - (one - 1));
  const V sum = one + q;
  const V rest = q - (sum - one);
  const V scale = internal::PowerOfTwo(rounded);
  // What y = 1 / (1 + scale sum) lacks.
  const V exp = scale * sum;
  const V whole = 1 + exp;
  const V low = Select(exp < V{} + 1, exp - (whole - 1), 1 - (whole - exp));
  const V y = 1 / whole;
  const V error =
      MulAdd(-y, MulAdd(scale, rest, low), MulAdd(-whole, y, Element<V>(1)));
  return Select(x < -most, V{}, MulAdd(y, error, y));
}

}  // namespace xla_ffi_ops::math

#endif  // XLA_FFI_OPS_VEC_MATH_EXP_H_
