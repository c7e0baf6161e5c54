// SPDX-License-Identifier: Apache-2.0
// The numbers that exponential functions and logarithms are computed with.
// tools/polynomials.py makes the coefficients.
#ifndef XLA_FFI_OPS_VEC_MATH_EXP_LOG_CONSTANTS_H_
#define XLA_FFI_OPS_VEC_MATH_EXP_LOG_CONSTANTS_H_

#include <cstdint>
#include <limits>
#include <type_traits>

namespace xla_ffi_ops::internal {

template <typename T>
struct FloatFormat {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  static constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  static constexpr int64_t kBias = std::numeric_limits<T>::max_exponent - 1;
};

// With x = n ln(2) + r and |r| <= ln(2) / 2, exp(x) is 2^n exp(r).
template <typename T>
struct ExpConstants;

template <>
struct ExpConstants<float> : FloatFormat<float> {
  // The logarithm of the smallest normal number, rounded up.
  static constexpr float kLeast = -0x1.5d589ep6f;
  // Has as few bits as lets n * kLn2High be exact; and the rest of ln(2).
  static constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;

  // (exp(r) - 1 - r) / r^2, interpolated at the roots of a Chebyshev
  // polynomial.
  static constexpr float kRest[] = {0.5f, 0x1.5554dcp-3f, 0x1.55551ap-5f,
                                    0x1.120ba2p-7f, 0x1.6d113cp-10f};
  static constexpr float kSlope = 1;
};

template <>
struct ExpConstants<double> : FloatFormat<double> {
  static constexpr double kLeast = -0x1.6232bdd7abcd2p9;
  static constexpr double kLn2High = 0x1.62e42fefap-1;
  static constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;

  static constexpr double kRest[] = {0.5,
                                     0x1.5555555555557p-3,
                                     0x1.5555555555556p-5,
                                     0x1.11111111100cep-7,
                                     0x1.6c16c16c162ccp-10,
                                     0x1.a01a01abef415p-13,
                                     0x1.a01a01a6dcaffp-16,
                                     0x1.71de021a90822p-19,
                                     0x1.27e4db57442fbp-22,
                                     0x1.af4e196027428p-26,
                                     0x1.1f731ea5352cap-29};
  static constexpr double kSlope = 1;
};

// For results of 16 bits: the relative error is 2^-17 at most, of 7
// multiplications in place of 10.
struct ShortExpConstants : ExpConstants<float> {
  static constexpr float kLn2High = 0x1.62e43p-1f, kLn2Low = 0;
  static constexpr float kSlope = 0x1.fffba8p-1f;

  // With kSlope, the polynomial whose largest relative error is the least.
  static constexpr float kRest[] = {0x1.0003f4p-1f, 0x1.57ceb6p-3f,
                                    0x1.5414c2p-5f};
};

// With x = 2^k (1 + f) and 1 + f from sqrt(1/2) to sqrt(2), log(x) is k ln(2) +
// log(1 + f). With s = f / (2 + f), log(1 + f) is 2 atanh(s), which is
// f - s (f - r) for r = 2/3 s^2 + 2/5 s^4 + ...
template <typename T>
struct LogConstants;

template <>
struct LogConstants<float> : FloatFormat<float> {
  // ln(2) in two parts; k times the first one is exact.
  static constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;

  // r / s^2 as a polynomial of z = s^2, interpolated at the roots of a
  // Chebyshev polynomial.
  static constexpr float kRest[] = {0x1.55555cp-1f, 0x1.997c3p-2f,
                                    0x1.2ee61p-2f};
};

template <>
struct LogConstants<double> : FloatFormat<double> {
  static constexpr double kLn2High = 0x1.62e42fef8p-1;
  static constexpr double kLn2Low = 0x1.1cf79abc9e3b4p-36;

  static constexpr double kRest[] = {0x1.5555555555558p-1, 0x1.99999999952e2p-2,
                                     0x1.2492492df148dp-2, 0x1.c71c62e5800a1p-3,
                                     0x1.7462b4ab2ef6bp-3, 0x1.39fe606542ddep-3,
                                     0x1.2b584aae78a57p-3};
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_VEC_MATH_EXP_LOG_CONSTANTS_H_
