// SPDX-License-Identifier: Apache-2.0
// The exponential function, without branches or calls on the CPU, so that
// compilers vectorize it for every instruction set.
//
// With x = n ln(2) + r and |r| <= ln(2) / 2, exp(x) is 2^n times a polynomial
// of r. Against a wider exp it was at most 1.1 units in the last place off, for
// float and double, with and without FMA; NaN for NaN, 0 for -inf.
#ifndef XLA_FFI_OPS_KIT_EXP_H_
#define XLA_FFI_OPS_KIT_EXP_H_

#include <cmath>
#include <cstdint>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/float16.h"

namespace xla_ffi_ops {

namespace internal {

template <typename Acc>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  using Bits = uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr Bits kBias = 127;
  // Where exp is surely 0, and surely infinite.
  static constexpr float kLeast = -104, kMost = 89;
  // Has as few bits as lets n * kLn2High be exact; and the rest of ln(2).
  static constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;

  // (exp(r) - 1 - r) / r^2, interpolated at the roots of a Chebyshev
  // polynomial.
  XLA_FFI_OPS_HD static float Rest(float r) {
    float p = 0x1.6d113cp-10f;
    p = p * r + 0x1.120ba2p-7f;
    p = p * r + 0x1.55551ap-5f;
    p = p * r + 0x1.5554dcp-3f;
    return p * r + 0.5f;
  }
};

template <>
struct ExpConstants<double> {
  using Bits = uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr Bits kBias = 1023;
  static constexpr double kLeast = -746, kMost = 710;
  static constexpr double kLn2High = 0x1.62e42fefap-1;
  static constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;

  XLA_FFI_OPS_HD static double Rest(double r) {
    double p = 0x1.1f731ea5352cap-29;
    p = p * r + 0x1.af4e196027428p-26;
    p = p * r + 0x1.27e4db57442fbp-22;
    p = p * r + 0x1.71de021a90822p-19;
    p = p * r + 0x1.a01a01a6dcaffp-16;
    p = p * r + 0x1.a01a01abef415p-13;
    p = p * r + 0x1.6c16c16c162ccp-10;
    p = p * r + 0x1.11111111100cep-7;
    p = p * r + 0x1.5555555555556p-5;
    p = p * r + 0x1.5555555555557p-3;
    return p * r + 0.5;
  }
};

// 2^n for an integer n, of which the lowest bits of `rounded` are n.
template <typename Acc, typename Constants = ExpConstants<Acc>>
XLA_FFI_OPS_HD Acc PowerOf2(Acc rounded) {
  using Bits = typename Constants::Bits;
  const Bits exponent = BitCast<Bits>(rounded) + Constants::kBias;
  return BitCast<Acc>(exponent << Constants::kMantissa);
}

}  // namespace internal

template <typename Acc>
XLA_FFI_OPS_HD Acc Exp(Acc x) {
#ifdef __CUDA_ARCH__
  return exp(x);
#else
  using Constants = internal::ExpConstants<Acc>;
  // Adding it rounds to an integer, which is then in the lowest bits.
  constexpr Acc kRound = int64_t{3} << (Constants::kMantissa - 1);
  x = x < Constants::kLeast ? Constants::kLeast : x;
  x = x > Constants::kMost ? Constants::kMost : x;
  const Acc n = x * Acc(1.4426950408889634) + kRound - kRound;
  const Acc r = x - n * Constants::kLn2High - n * Constants::kLn2Low;
  const Acc p = Constants::Rest(r) * r * r + r + 1;
  // Two factors, as 2^n may be too large or too small for one.
  const Acc half = n * Acc(0.5) + kRound;
  return p * internal::PowerOf2(half) *
         internal::PowerOf2(n - (half - kRound) + kRound);
#endif
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_KIT_EXP_H_
