// SPDX-License-Identifier: Apache-2.0
// The exponential function of numbers up to 0, or little more, without branches
// or calls on the CPU, so that compilers vectorize it for every instruction
// set.
//
// With x = n ln(2) + r and |r| <= ln(2) / 2, exp(x) is 2^n times a polynomial
// of r. Against a wider exp it was at most 1.0 units in the last place off, and
// 1.3 without FMA, for float and double; NaN for NaN. It is 0 below the
// smallest normal number: XLA's threads flush such results anyway.
#ifndef XLA_FFI_OPS_VEC_MATH_KERNEL_EXP_H_
#define XLA_FFI_OPS_VEC_MATH_KERNEL_EXP_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops {

namespace internal {

// c[0] + c[1] x + c[2] x^2 + ..., which compilers may fuse. vec/vector.h
// has its own.
template <int from = 0, typename V, typename C, int n>
XLA_FFI_OPS_HD V Horner(V x, const C (&c)[n]) {
  if constexpr (from + 2 == n) {
    return c[from + 1] * x + c[from];
  } else {
    return Horner<from + 1>(x, c) * x + c[from];
  }
}

template <typename Acc>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  using Bits = uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr int64_t kBias = 127;
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
struct ExpConstants<double> {
  using Bits = uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr int64_t kBias = 1023;
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

template <typename Constants, typename Acc>
XLA_FFI_OPS_HD Acc ExpUpToZeroBy(Acc x) {
  using Bits = typename Constants::Bits;
  // Adding it rounds to an integer, which is then in the lowest bits, with the
  // bias of an exponent.
  constexpr Acc kRound =
      (int64_t{3} << (Constants::kMantissa - 1)) + Constants::kBias;
  const Acc rounded = x * Acc(1.4426950408889634) + kRound;
  const Acc n = rounded - kRound;
  Acc r = x - n * Constants::kLn2High;
  if constexpr (Constants::kLn2Low != 0) r -= n * Constants::kLn2Low;
  const Acc p = (Horner(r, Constants::kRest) * r + Constants::kSlope) * r + 1;
  const Bits power = internal::BitCast<Bits>(rounded) << Constants::kMantissa;
  const Acc exp = p * internal::BitCast<Acc>(power);
  return x < Constants::kLeast ? 0 : exp;  // NaN stays.
}

}  // namespace internal

// exp(x) for x of at most 0. It is right for positive x, too, up to 80.
template <typename Acc>
XLA_FFI_OPS_HD Acc ExpUpToZero(Acc x) {
#ifdef __CUDA_ARCH__
  return exp(x);
#else
  return internal::ExpUpToZeroBy<internal::ExpConstants<Acc> >(x);
#endif
}

// The same for a result that is rounded to a T. For 16 bits, the relative error
// is 2^-17 at most: on CUDA x as a power of two is rounded, and is less than
// 2^7. What would be subnormal is 0.
template <typename T, typename Acc>
XLA_FFI_OPS_HD Acc ExpUpToZeroFor(Acc x) {
#ifdef __CUDA_ARCH__
  if constexpr (kIs16BitFloat<T>) {
    float exp;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(exp) : "f"(x * 1.44269504f));
    return exp;
  }
#else
  if constexpr (kIs16BitFloat<T> && std::is_same_v<Acc, float>) {
    return internal::ExpUpToZeroBy<internal::ShortExpConstants>(x);
  }
#endif
  return ExpUpToZero(x);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_VEC_MATH_KERNEL_EXP_H_
