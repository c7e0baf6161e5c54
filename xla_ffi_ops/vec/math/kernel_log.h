// SPDX-License-Identifier: Apache-2.0
// The logarithm of 1 + x for x of at least 0, without branches or calls on the
// CPU, so that compilers vectorize it for every instruction set.
//
// With 1 + x = 2^k (1 + f) and 1 + f from sqrt(1/2) to sqrt(2), it is
// k ln(2) + log(1 + f). With s = f / (2 + f), log(1 + f) is 2 atanh(s), which
// is f - s (f - r) for r = 2/3 s^2 + 2/5 s^4 + ...
//
// It is right to 2 units in the last place, for float and double, up to 2^60:
// tests/kit/cpp/log_test.cc. NaN for NaN.
#ifndef XLA_FFI_OPS_VEC_MATH_KERNEL_LOG_H_
#define XLA_FFI_OPS_VEC_MATH_KERNEL_LOG_H_

#include <cmath>
#include <cstdint>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/math/kernel_exp.h"

namespace xla_ffi_ops {

namespace internal {

template <typename Acc>
struct LogConstants;

template <>
struct LogConstants<float> {
  using Bits = uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr int64_t kBias = 127;
  // ln(2) in two parts; k times the first one is exact.
  static constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;

  // r / s^2 as a polynomial of z = s^2, interpolated at the roots of a
  // Chebyshev polynomial.
  static constexpr float kRest[] = {0x1.55555cp-1f, 0x1.997c3p-2f,
                                    0x1.2ee61p-2f};
};

template <>
struct LogConstants<double> {
  using Bits = uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr int64_t kBias = 1023;
  static constexpr double kLn2High = 0x1.62e42fef8p-1;
  static constexpr double kLn2Low = 0x1.1cf79abc9e3b4p-36;

  static constexpr double kRest[] = {0x1.5555555555558p-1, 0x1.99999999952e2p-2,
                                     0x1.2492492df148dp-2, 0x1.c71c62e5800a1p-3,
                                     0x1.7462b4ab2ef6bp-3, 0x1.39fe606542ddep-3,
                                     0x1.2b584aae78a57p-3};
};

}  // namespace internal

// log(1 + x) for x of at least 0.
template <typename Acc>
XLA_FFI_OPS_HD Acc LogOnePlus(Acc x) {
#ifdef __CUDA_ARCH__
  return log1p(x);
#else
  using Constants = internal::LogConstants<Acc>;
  using Bits = typename Constants::Bits;
  constexpr int kMantissa = Constants::kMantissa;
  // The sum of it and an integer has that integer in the lowest bits.
  constexpr Acc kRound = int64_t{3} << (kMantissa - 1);
  const Bits root = internal::BitCast<Bits>(Acc(0.70710678118654752));
  const Bits one = internal::BitCast<Bits>(Acc(1));
  const Bits k = (internal::BitCast<Bits>(Acc(1) + x) - root) >> kMantissa;
  const Acc scale = internal::BitCast<Acc>(one - (k << kMantissa));  // 2^-k
  const Acc f = x * scale + (scale - 1);
  const Acc exponent =
      internal::BitCast<Acc>(internal::BitCast<Bits>(kRound) + k) - kRound;
  const Acc s = f / (2 + f);
  const Acc z = s * s;
  const Acc rest = s * (f - internal::Horner(z, Constants::kRest) * z);
  return exponent * Constants::kLn2High +
         (f - (rest - exponent * Constants::kLn2Low));
#endif
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_VEC_MATH_KERNEL_LOG_H_
