// SPDX-License-Identifier: Apache-2.0
// Modified Bessel functions of the first kind times exp(-|x|): BesselI0e,
// BesselI1e. Those of float are computed in double.
//
// Up to 8, they are (for I1: x times) a series of Chebyshev polynomials of
// x / 4 - 1; from there on, one of 16 / x - 1, over sqrt(x).
#ifndef XLA_FFI_OPS_VEC_MATH_BESSEL_H_
#define XLA_FFI_OPS_VEC_MATH_BESSEL_H_

#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::math {

namespace internal {

inline constexpr double kI0Near[] = {
    0x1.5a84e9035a229p-2,   -0x1.37febc057cd8cp-2,  0x1.5f7ac77ac88bcp-3,
    -0x1.84b70342d06e0p-4,  0x1.93e8acea8a311p-5,   -0x1.84e9ef121b6b6p-6,
    0x1.59961f3dde369p-7,   -0x1.1b65e201aa7bep-8,  0x1.adc758a120de7p-10,
    -0x1.2e2fd1f15e70ap-11, 0x1.8b51b7410659ap-13,  -0x1.e2b2659c38333p-15,
    0x1.13f58be988b85p-16,  -0x1.2866fcba0d70ap-18, 0x1.2bf24976e7ae1p-20,
    -0x1.1ec638eb147aep-22, 0x1.03b769b07ae15p-24,  -0x1.beaf679666667p-27,
    0x1.6d903570a3d71p-29,  -0x1.1d4fd5e666667p-31, 0x1.a98b8a3d70a3ep-34,
    -0x1.2fc78dc28f5c3p-36, 0x1.9fd27ae147ae1p-39,  -0x1.1132b851eb852p-41,
    0x1.55ee147ae147bp-44,  -0x1.93428f5c28f5cp-47, 0x1.e2e147ae147aep-51};
inline constexpr double kI0Far[] = {
    0x1.9be62aca809cap-2,   0x1.b998ca2e59052p-9,   0x1.20fa3789998f6p-14,
    0x1.8412bc103d70ap-19,  0x1.b8007d98f5c29p-23,  0x1.8569282e147aep-26,
    0x1.d2c649947ae15p-29,  0x1.0f9ccc28f5c29p-31,  0x1.a24f7ae147ae1p-37,
    -0x1.1511d47ae147bp-35, -0x1.d0fe2e147ae15p-37, -0x1.f8fdeb851eb85p-40,
    0x1.941570a3d70a4p-41,  0x1.b1c5c28f5c290p-42,  0x1.11eb851eb851fp-46,
    -0x1.74947ae147ae1p-45, -0x1.6266666666667p-47, 0x1.2028f5c28f5c3p-48,
    0x1.8e147ae147ae1p-50};
inline constexpr double kI1Near[] = {
    0x1.02a63724a7ff9p-3,   -0x1.694d10469192cp-3,  0x1.a46dad536f538p-4,
    -0x1.b1bbc537c9eb2p-5,  0x1.951e3e7bb232ep-6,   -0x1.5a29f7913a233p-7,
    0x1.1065349d3a14ap-8,   -0x1.8cc620b3cd37ep-10, 0x1.0c95db6c6dd1fp-11,
    -0x1.533cad3d68b33p-13, 0x1.911b542c6ddd7p-15,  -0x1.bd5f9b8dd77aep-17,
    0x1.d1c4ed50bd1ecp-19,  -0x1.cc079834e0a3ep-21, 0x1.ae344b2d051ecp-23,
    -0x1.7dd3e22e051ecp-25, 0x1.4258df963d70ap-27,  -0x1.0361b02cccccdp-29,
    0x1.8ea339c28f5c3p-32,  -0x1.25100328f5c29p-34, 0x1.9cecc947ae148p-37,
    -0x1.1730b70a3d70ap-39, 0x1.6ac047ae147aep-42,  -0x1.c4507ae147ae1p-45,
    0x1.045c28f5c28f6p-47,  -0x1.dd9eb851eb852p-51};
inline constexpr double kI1Far[] = {
    0x1.8ea18b55b1515p-2,   -0x1.3fda053fcdb33p-7,  -0x1.cfd7f804ab333p-14,
    -0x1.048df49c8f5c3p-18, -0x1.0dbfd2ebc28f6p-22, -0x1.c415392b851ecp-26,
    -0x1.0790ba2b851ecp-28, -0x1.334ca4f5c28f6p-31, -0x1.4dcfd47ae147bp-36,
    0x1.1e1a1eb851eb8p-35,  0x1.f1013d70a3d71p-37,  0x1.1e803d70a3d71p-39,
    -0x1.955d70a3d70a4p-41, -0x1.cbca3d70a3d71p-42, -0x1.7e147ae147ae1p-46,
    0x1.822147ae147aep-45,  0x1.6d47ae147ae15p-47,  -0x1.04a3d70a3d70ap-48,
    -0x1.4570a3d70a3d7p-49, 0x1.2f5c28f5c28f6p-52};

// The first terms of a series of Chebyshev polynomials, by Clenshaw's method.
template <int terms, int n, typename V>
XLA_FFI_OPS_HD V Chebyshev(V t, const double (&series)[n]) {
  V next{}, sum{};
  for (int k = terms - 1; k > 0; --k) {
    const V before = MulAdd(2 * t, sum, series[k] - next);
    next = sum;
    sum = before;
  }
  return MulAdd(t, sum, series[0] - next);
}

// Of |x|; that of I1 over |x| if it is near.
template <bool is_short, int n, int m, typename V>
XLA_FFI_OPS_HD V BesselOf(V a, bool is_odd, const double (&near)[n],
                          const double (&far)[m]) {
  const auto is_near = a <= 8.0;
  const V t = Select(is_near, a * 0.25, 16 / a) - 1;
  const V of_near = Chebyshev<is_short ? 20 : n>(t, near);
  const V of_far = Chebyshev<is_short ? 7 : m>(t, far) / Sqrt(a);
  return Select(is_near, is_odd ? of_near * a : of_near, of_far);
}

}  // namespace internal

// At most 0.6 ulp for float and 100 for double.
template <typename V>
XLA_FFI_OPS_HD V BesselI0e(V x) {
  return InDouble(
      [](auto d) XLA_FFI_OPS_INLINED {
        return internal::BesselOf<kIsFloat<V>>(Abs(d), false, internal::kI0Near,
                                               internal::kI0Far);
      },
      x);
}

// At most 0.6 ulp for float and 100 for double.
template <typename V>
XLA_FFI_OPS_HD V BesselI1e(V x) {
  return InDouble(
      [](auto d) XLA_FFI_OPS_INLINED {
        const auto of_size = internal::BesselOf<kIsFloat<V>>(
            Abs(d), true, internal::kI1Near, internal::kI1Far);
        return Select(d != d, d, WithSign(of_size, d));
      },
      x);
}

}  // namespace xla_ffi_ops::math

#endif  // XLA_FFI_OPS_VEC_MATH_BESSEL_H_
