// SPDX-License-Identifier: Apache-2.0
// What sums of exponentials take, on the CPU and with CUDA: exp(x) for x of at
// most 0, and log(1 + x) for x of at least 0. On the CPU they have neither
// branches nor calls, so that compilers vectorize loops over them for every
// instruction set. Unlike the other functions of this folder, they leave it to
// the compiler what is fused.
#ifndef XLA_FFI_OPS_VEC_MATH_EXP_SUMS_H_
#define XLA_FFI_OPS_VEC_MATH_EXP_SUMS_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/math/exp_log_constants.h"

namespace xla_ffi_ops {

namespace internal {

// c[0] + c[1] x + c[2] x^2 + ...; Polynomial in math_vector.h says what is
// fused.
template <int from = 0, typename V, typename C, int n>
XLA_FFI_OPS_HD V Horner(V x, const C (&c)[n]) {
  if constexpr (from + 2 == n) {
    return c[from + 1] * x + c[from];
  } else {
    return Horner<from + 1>(x, c) * x + c[from];
  }
}

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

// exp(x) for x of at most 0. It is right for positive x, too, up to 80. Against
// a wider exp it was at most 1.0 units in the last place off, and 1.3 without
// FMA, for float and double; NaN for NaN. It is 0 below the smallest normal
// number: XLA's threads flush such results anyway.
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

// log(1 + x) for x of at least 0. It is right to 2 units in the last place, for
// float and double, up to 2^60: tests/kit/cpp/vec/log_test.cc. NaN for NaN.
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

#endif  // XLA_FFI_OPS_VEC_MATH_EXP_SUMS_H_
