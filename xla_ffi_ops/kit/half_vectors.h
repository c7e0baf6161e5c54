// SPDX-License-Identifier: Apache-2.0
// Converts numbers of 16 bits to float and back, in registers.
//
// For Float16, the instructions are written as such: g++ 12 makes none of them
// from loops, and refuses intrinsics in what is compiled for several levels.
#ifndef XLA_FFI_OPS_KIT_HALF_VECTORS_H_
#define XLA_FFI_OPS_KIT_HALF_VECTORS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/float16.h"

namespace xla_ffi_ops::internal {

// The compiler's vectors.
template <typename T, int lanes>
struct VecOf {
  typedef T type __attribute__((vector_size(lanes * sizeof(T))));
};
template <typename T, int lanes>
using Vec = typename VecOf<T, lanes>::type;

// n numbers of 16 bits, in a register of at least 16 bytes.
template <int n, typename T = int16_t>
using Halves = Vec<T, std::max(n, 8)>;

template <int n>
inline constexpr std::make_integer_sequence<int, n> kEach{};

// These need at least four lanes, and level 3, which has F16C.
template <int n>
XLA_FFI_OPS_HD void Widen(Float16, const Halves<n>& x, Vec<float, n>* y) {
#ifdef __clang__
  const auto all =
      __builtin_convertvector((Halves<n, __fp16>)x, Halves<n, float>);
  std::memcpy(y, &all, sizeof(*y));
#else
  asm("vcvtph2ps %1, %0" : "=v"(*y) : "vm"(x));
#endif
}
template <int n>
XLA_FFI_OPS_HD void Narrow(Float16, const Vec<float, n>& x, Halves<n>* y) {
#ifdef __clang__
  Halves<n, float> all{};
  std::memcpy(&all, &x, sizeof(x));
  *y = (Halves<n>)__builtin_convertvector(all, Halves<n, __fp16>);
#else
  asm("vcvtps2ph $0, %1, %0" : "=v"(*y) : "v"(x));  // $0: to nearest even
#endif
}

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

// BFloat16::RoundUpper of each lane.
template <int n>
XLA_FFI_OPS_HD void RoundUpper(const Vec<float, n>& x, Vec<uint32_t, n>* y) {
  const auto bits = (Vec<uint32_t, n>)x;
  const auto rounded = bits + 0x7fff + ((bits >> 16) & 1);
  *y = x != x ? bits | 0x400000 : rounded;
}
// The upper halves of the lanes of a, and then of b.
template <int n, int... i>
XLA_FFI_OPS_HD void TakeUpper(const Vec<uint32_t, n>& a,
                              const Vec<uint32_t, n>& b, Vec<int16_t, 2 * n>* y,
                              std::integer_sequence<int, i...>) {
  using Parts = Vec<int16_t, 2 * n>;
  *y = __builtin_shufflevector((Parts)a, (Parts)b, (2 * i + 1)...);
}

#if defined(XLA_FFI_OPS_CPU_LEVELS) && !defined(__clang__)
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
  RoundUpper<n>(a, &bits[0]);
  RoundUpper<n>(b, &bits[1]);
  TakeUpper<n>(bits[0], bits[1], y, kEach<2 * n>);
}

// Convert n numbers to float and back. If g++ 12 vectorizes a loop over all of
// a local array, it keeps the array in registers, and not in memory.
template <int level, int n, typename T>
XLA_FFI_OPS_HD void WidenBlock(const T* x, float* y) {
  constexpr int lanes = std::min(n, kVectorBytes<level> / 4);
  if constexpr (level >= 3 && lanes >= 8) {
#pragma GCC unroll 4
    for (int i = 0; i < n; i += lanes) {
      Vec<float, lanes> wide;
      Halves<lanes> half;
      std::memcpy(&half, x + i, sizeof(half));
      Widen<lanes>(T(), half, &wide);
      std::memcpy(y + i, &wide, sizeof(wide));
    }
  } else {
    for (int i = 0; i < n; ++i) y[i] = x[i];
  }
}
template <int level, int n, typename T>
XLA_FFI_OPS_HD void NarrowBlock(const float* x, T* y) {
  // Two vectors of float become one of bfloat16.
  constexpr int vectors = std::is_same_v<T, BFloat16> ? 2 : 1;
  constexpr int lanes = std::min(n / vectors, kVectorBytes<level> / 4);
  if constexpr (level >= 3 && vectors * lanes >= 8) {
#pragma GCC unroll 4
    for (int i = 0; i < n; i += vectors * lanes) {
      Vec<float, lanes> wide[vectors];
      Vec<int16_t, vectors * lanes> half;
      for (int k = 0; k < vectors; ++k) {
        std::memcpy(&wide[k], x + i + k * lanes, sizeof(wide[k]));
      }
      if constexpr (vectors == 1) {
        Narrow<lanes>(T(), wide[0], &half);
      } else {
        NarrowPair<level, lanes>(wide[0], wide[1], &half);
      }
      std::memcpy(static_cast<void*>(y + i), &half, sizeof(half));
    }
  } else {
    for (int i = 0; i < n; ++i) y[i] = x[i];
  }
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_HALF_VECTORS_H_
