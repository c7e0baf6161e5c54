// SPDX-License-Identifier: Apache-2.0
// Atan, Atan2, Asin, Acos. Those of float are computed in double.
#ifndef XLA_FFI_OPS_VEC_MATH_INVERSE_TRIGONOMETRIC_H_
#define XLA_FFI_OPS_VEC_MATH_INVERSE_TRIGONOMETRIC_H_

#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::math {

namespace internal {

// (atan(t) - t) / t^3 as a polynomial of t^2, for |t| up to tan(pi / 8), and
// (asin(x) - x) / x^3 of x^2, up to 1 / 2. The short ones are right to float.
inline constexpr double kShortAtan[] = {
    -0x1.5555495b3f94dp-2, 0x1.9991acacec005p-3, -0x1.23b6b6ed2f4e8p-3,
    0x1.b2027b4a60386p-4, -0x1.f259d7007c41ap-5};
inline constexpr double kAtan[] = {
    -0x1.555555555553dp-2, 0x1.9999999995897p-3,  -0x1.24924922af1f3p-3,
    0x1.c71c70e6e5421p-4,  -0x1.745cf8f740d08p-4, 0x1.3b111b1b31deep-4,
    -0x1.10ebcffa922d5p-4, 0x1.df10ae2aaa012p-5,  -0x1.9cd91a0f8156ap-5,
    0x1.37e5fea07987bp-5,  -0x1.258e61e75919p-6};
inline constexpr double kShortAsin[] = {
    0x1.55554c339f2c6p-3, 0x1.3338906522362p-4, 0x1.6cabff3210d23p-5,
    0x1.04a8118a32503p-5, 0x1.d7db9cdec7dabp-7, 0x1.33c2b7af1466cp-5};
inline constexpr double kAsin[] = {
    0x1.5555555555578p-3, 0x1.333333332df3bp-4, 0x1.6db6db72283fep-5,
    0x1.f1c71a8d32878p-6, 0x1.6e8bdfb0d27cdp-6, 0x1.1c49e24d733b1p-6,
    0x1.ca20d2b8dde5fp-7, 0x1.757b78ba922f7p-7, 0x1.617353eb1b2dep-7,
    0x1.e2d01328cf438p-9, 0x1.648b51b7f6dc3p-6, -0x1.5947af34c4d97p-6,
    0x1.0babbec552ce1p-5};

// pi / 4 and pi / 2, in two parts; products of the first of them with integers
// up to 4 are exact.
inline constexpr double kQuarterPi = 0x1.921fb54442d18p-1;
inline constexpr double kQuarterPiLow = 0x1.1a62633145c07p-55;

// The angle of the point (x, y), with y of at least 0, to which `below` adds
// pi / 2: x is then negative.
template <bool is_short, typename V, typename Mask>
XLA_FFI_OPS_HD V AngleOf(V y, V x, Mask below) {
  const auto is_steep = y > x;
  const V less = Select(is_steep, x, y), more = Select(is_steep, y, x);
  // atan(less / more) is atan(t), or pi / 4 + atan(t).
  const auto is_far = less > 0.41421356237309503 * more;
  const V up = Select(is_far, less - more, less);
  const V down = Select(is_far, less + more, more);
  const V t = up / Select(down == V{}, V{} + 1, down);
  const V z = t * t;
  V rest = V{};
  if constexpr (is_short) {
    rest = t * z * Polynomial(z, kShortAtan);
  } else {
    rest = t * z * Polynomial(z, kAtan);
  }
  const V one = V{} + 1, two = V{} + 2, four = V{} + 4;
  // n pi / 4 + or - (t + rest)
  const V near = Select(is_far, one, V{});
  const V half = Select(is_steep, two - near, near);
  const V n = Select(below, four - half, half);
  const V turned = Select(is_steep, -one, one);
  const V sign = Select(below, -turned, turned);
  return n * kQuarterPi + (sign * t + (sign * rest + n * kQuarterPiLow));
}

// asin(|x|) = s + s^3 R(s^2), or pi / 2 - 2 asin(sqrt((1 - |x|) / 2)).
template <typename V>
struct AsinParts {
  V s, low, rest;  // s + low + rest
};

template <bool is_short, typename V, typename Mask>
XLA_FFI_OPS_HD AsinParts<V> SplitAsin(V a, Mask is_large) {
  const V z = Select(is_large, (1 - a) * 0.5, a * a);
  const V root = Select(is_large, Sqrt(z), a);
  if constexpr (is_short) {
    return {root, V{}, root * z * Polynomial(z, kShortAsin)};
  } else {
    // The root is s + low, with s^2 exact.
    const V s = HighHalf(root);
    const V low = (z - s * s) / (s + root + Limits<V>::min());
    return {Select(is_large, s, a), Select(is_large, low, V{}),
            root * z * Polynomial(z, kAsin)};
  }
}

template <bool is_short, typename V>
XLA_FFI_OPS_HD V AsinOf(V x) {
  const V a = Abs(x);
  const auto is_large = a > 0.5;
  const auto parts = SplitAsin<is_short>(a, is_large);
  const V low = parts.low + parts.rest;
  const V pi = Splat<V>(2 * kQuarterPi);
  const V first = pi - 2 * parts.s;
  const V lost = (pi - first) - 2 * parts.s;
  const V large = first - (2 * low - (lost + 2 * kQuarterPiLow));
  return WithSign(Select(is_large, large, a + parts.rest), x);
}

template <bool is_short, typename V>
XLA_FFI_OPS_HD V AcosOf(V x) {
  const V a = Abs(x);
  const auto is_large = a > 0.5;
  const auto parts = SplitAsin<is_short>(a, is_large);
  const V low = parts.low + parts.rest;
  // n pi / 2 + sign * asin, or twice it.
  const auto is_negative = x < V{};
  const V one = V{} + 1, two = V{} + 2;
  const V n = Select(is_large, Select(is_negative, two, V{}), one);
  const V up = Select(is_negative, -one, one);
  const V sign = Select(is_large, 2 * up, -up);
  const V whole = n * (2 * kQuarterPi);
  const V first = whole + sign * parts.s;
  const V lost = (whole - first) + sign * parts.s;
  return first + (lost + (sign * low + n * (2 * kQuarterPiLow)));
}

}  // namespace internal

// At most 0.6 ulp for float and 2 for double.
template <typename V>
XLA_FFI_OPS_HD V Atan(V x) {
  const auto atan = [](auto d) XLA_FFI_OPS_INLINED {
    using D = decltype(d);
    const D one = D{} + 1;
    return WithSign(internal::AngleOf<kIsFloat<V>>(Abs(d), one, one < D{}), d);
  };
  return InDouble(atan, x);
}

// At most 0.6 ulp for float and 2 for double.
template <typename V>
XLA_FFI_OPS_HD V Atan2(V y, V x) {
  const auto atan = [](auto y, auto x) XLA_FFI_OPS_INLINED {
    using D = decltype(x);
    const D one = D{} + 1;
    D a = Abs(y), b = Abs(x);
    // Two infinities count as two ones.
    const auto both = Select(a < b, a, b) == Splat<D>(kInfinity<D>);
    a = Select(both, one, a), b = Select(both, one, b);
    if constexpr (!kIsFloat<V>) {  // Neither sums nor differences leave the
                                   // range.
      const D most = Select(a > b, a, b);
      const D scale =
          Select(most > Splat<D>(0x1p1000), Splat<D>(0x1p-100),
                 Select(most < Splat<D>(0x1p-900), Splat<D>(0x1p100), one));
      a *= scale, b *= scale;
    }
    const D angle =
        internal::AngleOf<kIsFloat<V>>(a, b, WithSign(one, x) < D{});
    return WithSign(Select(Opaque(x != x) | Opaque(y != y), x + y, angle), y);
  };
  return InDouble(atan, y, x);
}

// At most 0.6 ulp for float and 1 for double.
template <typename V>
XLA_FFI_OPS_HD V Asin(V x) {
  const auto asin = [](auto d) XLA_FFI_OPS_INLINED {
    return internal::AsinOf<kIsFloat<V>>(d);
  };
  return InDouble(asin, x);
}

// At most 0.6 ulp for float and 1 for double.
template <typename V>
XLA_FFI_OPS_HD V Acos(V x) {
  const auto acos = [](auto d) XLA_FFI_OPS_INLINED {
    return internal::AcosOf<kIsFloat<V>>(d);
  };
  return InDouble(acos, x);
}

}  // namespace xla_ffi_ops::math

#endif  // XLA_FFI_OPS_VEC_MATH_INVERSE_TRIGONOMETRIC_H_
