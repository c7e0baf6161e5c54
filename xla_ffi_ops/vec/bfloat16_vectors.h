// SPDX-License-Identifier: Apache-2.0
// Converts bfloat16 to float and back, in registers.
#ifndef XLA_FFI_OPS_VEC_BFLOAT16_VECTORS_H_
#define XLA_FFI_OPS_VEC_BFLOAT16_VECTORS_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/shuffles.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::internal {

// n numbers of 16 bits, in a register of at least 16 bytes.
template <int n, typename T = int16_t>
using Halves = Vec<T, std::max(n, 8)>;

// x with a zero before each number.
template <int n, int... i>
XLA_FFI_OPS_HD void AfterZeros(const Halves<n>& x, Vec<int16_t, 2 * n>* y,
                               std::integer_sequence<int, i...>) {
  constexpr int zero = std::max(n, 8);
  *y = __builtin_shufflevector(x, Halves<n>{}, (i % 2 == 0 ? zero : i / 2)...);
}
template <int n>
XLA_FFI_OPS_HD void Widen(BFloat16, const Halves<n>& x, Vec<float, n>* y) {
  Vec<int16_t, 2 * n> parts;
  AfterZeros<n>(x, &parts, kEach<2 * n>);
  *y = (Vec<float, n>)parts;
}

// BFloat16::RoundUpper of each lane that is not NaN.
template <int n>
XLA_FFI_OPS_HD void RoundNumbers(const Vec<float, n>& x, Vec<uint32_t, n>* y) {
  const auto bits = (Vec<uint32_t, n>)x;
  *y = bits + 0x7fff + ((bits >> 16) & 1);
}
// BFloat16::RoundUpper of each lane that is.
template <int n>
XLA_FFI_OPS_HD void KeepNans(const Vec<float, n>& x, Vec<uint32_t, n>* y) {
  *y = x != x ? (Vec<uint32_t, n>)x | 0x400000 : *y;
}
// BFloat16::RoundUpper of each lane.
template <int n>
XLA_FFI_OPS_HD void RoundUpper(const Vec<float, n>& x, Vec<uint32_t, n>* y) {
  RoundNumbers<n>(x, y);
  KeepNans<n>(x, y);
}
// The upper halves of the lanes of a, and then of b.
template <int n, int... i>
XLA_FFI_OPS_HD void TakeUpper(const Vec<uint32_t, n>& a,
                              const Vec<uint32_t, n>& b, Vec<int16_t, 2 * n>* y,
                              std::integer_sequence<int, i...>) {
  using Parts = Vec<int16_t, 2 * n>;
  *y = __builtin_shufflevector((Parts)a, (Parts)b, (2 * i + 1)...);
}

// Whether a lane may be NaN. To compare two vectors at once takes less time
// than to keep the NaNs of both.
template <int n>
XLA_FFI_OPS_HD bool MayHaveNan(const Vec<float, n>&, const Vec<float, n>&) {
  return true;
}
#if defined(XLA_FFI_OPS_CPU_LEVELS) && !defined(__clang__)
template <>
XLA_FFI_OPS_HD bool MayHaveNan<8>(const Vec<float, 8>& a,
                                  const Vec<float, 8>& b) {
  Vec<float, 8> is_nan;
  bool has;
  asm("vcmpunordps %3, %2, %1\n\tvtestps %1, %1"
      : "=@ccnz"(has), "=x"(is_nan)
      : "x"(a), "x"(b));
  return has;
}
template <>
XLA_FFI_OPS_HD bool MayHaveNan<16>(const Vec<float, 16>& a,
                                   const Vec<float, 16>& b) {
  bool has;
  asm("vcmpunordps %1, %2, %%k1\n\tkortestw %%k1, %%k1"
      : "=@ccnz"(has)
      : "v"(a), "v"(b)
      : "k1");
  return has;
}

// AVX512-BF16 is no part of level 4. It takes subnormal numbers for zeros.
inline const bool kHasBf16 = __builtin_cpu_supports("avx512bf16");

// Rounds the lanes of a, and then of b. Returns whether a result is zero.
XLA_FFI_OPS_HD bool NarrowNormal(const Vec<float, 16>& a,
                                 const Vec<float, 16>& b, Vec<int16_t, 32>* y) {
  const auto magnitude = Vec<int16_t, 32>{} + 0x7fff;
  bool zero;
  asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(*y) : "v"(a), "v"(b));
  asm("vptestnmw %1, %2, %%k1\n\tkortestd %%k1, %%k1"
      : "=@ccnz"(zero)
      : "v"(magnitude), "v"(*y)
      : "k1");
  return zero;
}

// Whether a lane is subnormal. (Instructions for floats do not see it in XLA's
// threads, which flush such numbers.)
XLA_FFI_OPS_HD bool HasSubnormal(const Vec<float, 16>& a,
                                 const Vec<float, 16>& b) {
  const auto exponent = Vec<int32_t, 16>{} + 0x7f800000;
  const auto mantissa = Vec<int32_t, 16>{} + 0x7fffff;
  bool has;
  asm("vptestnmd %1, %3, %%k1\n\tvptestmd %2, %3, %%k1%{%%k1%}\n\t"
      "vptestnmd %1, %4, %%k2\n\tvptestmd %2, %4, %%k2%{%%k2%}\n\t"
      "kortestw %%k1, %%k2"
      : "=@ccnz"(has)
      : "v"(exponent), "v"(mantissa), "v"(a), "v"(b)
      : "k1", "k2");
  return has;
}
#endif

// Rounds the lanes of a, and then of b, to bfloat16.
template <int level, int n>
XLA_FFI_OPS_HD void NarrowPair(const Vec<float, n>& a, const Vec<float, n>& b,
                               Vec<int16_t, 2 * n>* y) {
#if defined(XLA_FFI_OPS_CPU_LEVELS) && !defined(__clang__)
  if constexpr (level == 4 && n == 16) {
    // Few results are zero: looking at one vector comes before two.
    if (kHasBf16 && (!NarrowNormal(a, b, y) || !HasSubnormal(a, b))) return;
  }
#endif
  Vec<uint32_t, n> bits[2];
  RoundNumbers<n>(a, &bits[0]);
  RoundNumbers<n>(b, &bits[1]);
  if (MayHaveNan<n>(a, b)) {
    KeepNans<n>(a, &bits[0]);
    KeepNans<n>(b, &bits[1]);
  }
  TakeUpper<n>(bits[0], bits[1], y, kEach<2 * n>);
}

template <int n>
XLA_FFI_OPS_HD void Narrow(BFloat16, const Vec<float, n>& x, Halves<n>* y) {
  Vec<uint32_t, n> bits;
  RoundUpper<n>(x, &bits);
  if constexpr (n == 4) {
    TakeUpper<4>(bits, bits, y, kEach<8>);
  } else {
    Vec<uint32_t, n / 2> low, high;
    Cut<uint32_t, n>(bits, &low, &high, kEach<n / 2>);
    TakeUpper<n / 2>(low, high, y, kEach<n>);
  }
}

// Of two neighbors, the second one has the upper half of 32 bits, as in a
// float.
template <int n>
XLA_FFI_OPS_HD void SplitPairs(const Vec<int32_t, n>& pairs,
                               Vec<float, n>* even, Vec<float, n>* odd) {
  *even = (Vec<float, n>)(pairs << 16);
  *odd = (Vec<float, n>)(pairs & -0x10000);
}
template <int n>
XLA_FFI_OPS_HD void JoinPairs(const Vec<float, n>& even,
                              const Vec<float, n>& odd,
                              Vec<int32_t, n>* pairs) {
  Vec<uint32_t, n> rounded[2];
  RoundUpper<n>(even, &rounded[0]);
  RoundUpper<n>(odd, &rounded[1]);
  *pairs = (Vec<int32_t, n>)(rounded[0] >> 16 | (rounded[1] & -0x10000u));
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_VEC_BFLOAT16_VECTORS_H_
