// SPDX-License-Identifier: Apache-2.0
// Pow: exp(y log(|x|)), with the sign and the special values of C. That of
// float is computed in double; for double, the logarithm has two parts.
#ifndef XLA_FFI_OPS_VEC_MATH_POW_H_
#define XLA_FFI_OPS_VEC_MATH_POW_H_

#include "xla_ffi_ops/vec/math/exp.h"
#include "xla_ffi_ops/vec/math/log.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::math {

namespace internal {

// With z = s^2, log((1 + s) / (1 - s)) is 2 s + s^3 (2/3 + z times this).
inline constexpr double kLogTail[] = {
    0x1.9999999999996p-2, 0x1.2492492492f4fp-2, 0x1.c71c71c596f0ep-3,
    0x1.745d18291c053p-3, 0x1.3b1364db23f22p-3, 0x1.11206c3f2fccdp-3,
    0x1.de3def2bcb2bbp-4, 0x1.eac171d4b30bcp-4};

// A sum of two numbers, of which `low` is the far smaller one.
template <typename V>
struct Pair {
  V high, low;
};

// a + b, exactly, where |a| is not smaller than |b|, or 0.
template <typename V>
XLA_FFI_OPS_HD Pair<V> Sum(V a, V b) {
  const V sum = a + b;
  return {sum, (a - sum) + b};
}

// log(x), right to 2^-65 of itself. Products of two halves
// of a significand are exact.
template <typename V>
XLA_FFI_OPS_HD Pair<V> LongLog(V x) {
  const auto parts = SplitAny(x);
  const V m = parts.m, f = m - 1;
  // s = f / (1 + m)
  const V down = 1 + m;
  const V s = f / down;
  const V s1 = HighHalf(s), down1 = HighHalf(down);
  const V s2 = ((f - s1 * down1) - s1 * (m - (down1 - 1))) / down;
  // z = s^2
  const V z1 = s1 * s1, z2 = s2 * (s1 + s), z = z1 + z2;
  // u = 2/3 + z (2/5 + ...)
  constexpr double kHigh = 0x1.5555555555555p-1, kLow = 0x1.5555555555555p-55;
  const V tail = z * Polynomial(z, kLogTail);
  const V u = kHigh + tail;
  const V u2 = (kHigh - u) + tail + kLow;
  // v = z u and w = s v, each with a first part of few bits.
  const V z0 = HighHalf(z), u0 = HighHalf(u);
  const V v = z0 * u0;
  const V v2 = z0 * ((u - u0) + u2) + ((z1 - z0) + z2) * u;
  const V v0 = HighHalf(v);
  const V w = s1 * v0;
  const V w2 = s1 * ((v - v0) + v2) + s2 * (v + v2);
  // k ln(2) + 2 s + w; k times the first part of ln(2) is exact.
  constexpr double kLn2High = 0x1.62e42fefa2p-1,
                   kLn2Low = 0x1.9ef35793c7673p-41;
  const auto log = Sum(2 * s1, w);
  const auto sum = Sum(parts.k * kLn2High, log.high);
  const V low = log.low + (2 * s2 + w2);
  return {sum.high, sum.low + (parts.k * kLn2Low + low)};
}

// exp(y log(x)), for positive and finite x.
template <typename V>
XLA_FFI_OPS_HD V LongPow(V x, V y) {
  const auto log = LongLog(x);
  const V y1 = HighHalf(y), log1 = HighHalf(log.high);
  const V low = (y - y1) * log.high + y * log.low;
  const auto product = Sum(y1 * log1, y1 * (log.high - log1) + low);
  // Where it is far out of the range, the parts may be infinite.
  const V plain = y * log.high;
  const auto is_far = Abs(plain) > 1000.0;
  return ExpOf(Select(is_far, plain, product.high),
               Select(is_far, V{}, product.low));
}

}  // namespace internal

// At most 0.6 ulp for float and 1 for double.
template <typename V>
XLA_FFI_OPS_HD V Pow(V x, V y) {
  const V a = Abs(x), size = Abs(y), one = V{} + 1;
  const V infinity = Splat<V>(kInfinity<V>);
  V power = InDouble(
      [](auto x, auto y) XLA_FFI_OPS_INLINED {
        if constexpr (kIsFloat<V>) {
          // Where exp is infinite and 0 in float.
          using D = decltype(x);
          const D most = Splat<D>(128), t = y * internal::ShortLog(x);
          return internal::ShortExp(
              Select(t > most, most, Select(t < -most, -most, t)));
        } else {
          return internal::LongPow(x, y);
        }
      },
      a, y);
  power = Select(a == V{}, Select(y < V{}, infinity, V{}), power);
  power = Select(a == infinity, Select(y < V{}, V{}, infinity), power);
  power = Select(a == one, one, power);
  // The sum has an integer in its last bits. From 2 kUnit on, all numbers are
  // even.
  constexpr Element<V> kUnit = int64_t{1} << kMantissa<V>;
  const V sum = Select(size < kUnit, size + kUnit, size);
  const auto is_integer = Opaque(size >= kUnit) | Opaque(sum - kUnit == size);
  const auto is_odd =
      is_integer & Opaque(size < 2 * kUnit) & Opaque((BitsOf(sum) & 1) == 1);
  power = Select(is_odd, WithSign(power, x), power);
  const auto has_no_power = Opaque(x < V{}) & Opaque(a < infinity) &
                            Opaque(is_integer == 0) & Opaque(a > V{});
  power = Select(has_no_power, Splat<V>(Limits<V>::quiet_NaN()), power);
  power = Select(Opaque(x != x) | Opaque(y != y), x + y, power);
  return Select(Opaque(x == one) | Opaque(y == V{}), one, power);
}

}  // namespace xla_ffi_ops::math

#endif  // XLA_FFI_OPS_VEC_MATH_POW_H_
