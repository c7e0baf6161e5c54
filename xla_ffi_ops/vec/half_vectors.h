// SPDX-License-Identifier: Apache-2.0
// Converts numbers of 16 bits to float and back, in registers.
#ifndef XLA_FFI_OPS_VEC_HALF_VECTORS_H_
#define XLA_FFI_OPS_VEC_HALF_VECTORS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/memory.h"
#include "xla_ffi_ops/vec/shuffles.h"
#include "xla_ffi_ops/vec/vec.h"
#include "xla_ffi_ops/vec/x86.h"

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
XLA_FFI_OPS_HD bool MayHaveNan([[maybe_unused]] const Vec<float, n>& a,
                               [[maybe_unused]] const Vec<float, n>& b) {
#ifdef XLA_FFI_OPS_X86
  if constexpr (n == 8 || n == 16) return x86::HasNan(a, b);
#endif
  return true;
}

// Rounds the lanes of a, and then of b, to bfloat16.
template <int level, int n>
XLA_FFI_OPS_HD void NarrowPair(const Vec<float, n>& a, const Vec<float, n>& b,
                               Vec<int16_t, 2 * n>* y) {
#ifdef XLA_FFI_OPS_X86
  if constexpr (level == 4 && n == 16) {
    if (x86::NarrowBFloat16(a, b, y)) return;
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

// These need at least four lanes, and kWideLevel.
template <int n>
XLA_FFI_OPS_HD void Widen(Float16, const Halves<n>& x, Vec<float, n>* y) {
#ifdef XLA_FFI_OPS_X86
  x86::WidenFloat16(x, y);
#else
  const auto all =
      __builtin_convertvector((Halves<n, __fp16>)x, Halves<n, float>);
  std::memcpy(y, &all, sizeof(*y));
#endif
}
template <int n>
XLA_FFI_OPS_HD void Narrow(Float16, const Vec<float, n>& x, Halves<n>* y) {
#ifdef XLA_FFI_OPS_X86
  x86::NarrowFloat16(x, y);
#else
  Halves<n, float> all{};
  std::memcpy(&all, &x, sizeof(x));
  *y = (Halves<n>)__builtin_convertvector(all, Halves<n, __fp16>);
#endif
}

// Convert n numbers to float and back. If g++ 12 vectorizes a loop over all of
// a local array, it keeps the array in registers, and not in memory.
template <int level, int n, typename T>
XLA_FFI_OPS_HD void WidenBlock(const T* x, float* y) {
  constexpr int lanes = std::min(n, kVectorBytes<level> / 4);
  if constexpr (level >= kWideLevel && lanes >= 8) {
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
template <int level, int n, bool nontemporal = false, typename T>
XLA_FFI_OPS_HD void NarrowBlock(const float* x, T* y) {
  // Two vectors of float become one of bfloat16.
  constexpr int vectors = std::is_same_v<T, BFloat16> ? 2 : 1;
  constexpr int lanes = std::min(n / vectors, kVectorBytes<level> / 4);
  if constexpr (level >= kWideLevel && vectors * lanes >= 8) {
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
      StoreVector<nontemporal>(half, y + i);
    }
  } else {
    for (int i = 0; i < n; ++i) y[i] = x[i];
  }
}

// What a number of type T is in a vector.
template <typename T>
using Widened = std::conditional_t<kIs16BitFloat<T>, float, T>;

// The least level that has ReadOne and WriteOne for T, and whether this machine
// does.
template <typename T>
inline constexpr int kLeastLevel = kIs16BitFloat<T> ? kWideLevel : 0;
template <typename T>
bool HasLevelOf() {
  return !kIs16BitFloat<T> || CpuLevel() >= kWideLevel;
}

// Reads and writes as many numbers, of any width, as a vector has lanes. Those
// of 16 bits need at least four lanes.
template <typename T, int lanes>
XLA_FFI_OPS_HD void ReadOne(const T* x, Vec<Widened<T>, lanes>* v) {
  if constexpr (!kIs16BitFloat<T>) {
    Load<T, lanes>(x, v);
  } else {
    std::conditional_t<lanes == 4, int64_t, Halves<lanes>> raw;
    static_assert(sizeof(raw) == lanes * sizeof(T));
    std::memcpy(&raw, x, sizeof(raw));
    if constexpr (lanes == 4) {
      Widen<lanes>(T(), (Halves<lanes>)Vec<int64_t, 2>{raw, 0}, v);
    } else {
      Widen<lanes>(T(), raw, v);
    }
  }
}
template <typename T, int lanes>
XLA_FFI_OPS_HD void WriteOne(const Vec<Widened<T>, lanes>& v, T* y) {
  if constexpr (!kIs16BitFloat<T>) {
    Store<T, lanes>(v, y);
  } else {
    Halves<lanes> raw;
    Narrow<lanes>(T(), v, &raw);
    std::memcpy(static_cast<void*>(y), &raw, lanes * sizeof(T));
  }
}

// Reads and writes so many vectors, in the order of the numbers. But those of
// BFloat16 at even places are in one vector, and those at odd places in the
// next: to bring them into order takes longer than to widen them.
template <typename T, int lanes, int vectors>
XLA_FFI_OPS_HD void ReadSome(const T* x, Vec<float, lanes>* v) {
  if constexpr (std::is_same_v<T, BFloat16>) {
#pragma GCC unroll 4
    for (int k = 0; k < vectors; k += 2) {
      Vec<int32_t, lanes> pairs;
      std::memcpy(&pairs, x + k * lanes, sizeof(pairs));
      SplitPairs<lanes>(pairs, v + k, v + k + 1);
    }
  } else {
#pragma GCC unroll 4
    for (int k = 0; k < vectors; ++k) ReadOne<T, lanes>(x + k * lanes, v + k);
  }
}
template <typename T, int lanes, int vectors>
XLA_FFI_OPS_HD void WriteSome(const Vec<float, lanes>* v, T* y) {
  if constexpr (std::is_same_v<T, BFloat16>) {
#pragma GCC unroll 4
    for (int k = 0; k < vectors; k += 2) {
      Vec<int32_t, lanes> pairs;
      JoinPairs<lanes>(v[k], v[k + 1], &pairs);
      std::memcpy(static_cast<void*>(y + k * lanes), &pairs, sizeof(pairs));
    }
  } else {
#pragma GCC unroll 4
    for (int k = 0; k < vectors; ++k) WriteOne<T, lanes>(v[k], y + k * lanes);
  }
}

// From the order of the numbers to that of ReadSome, and back.
template <typename T, int lanes, int vectors, int... i>
XLA_FFI_OPS_HD void ToOrderOf(const float* x, Vec<float, lanes>* v,
                              std::integer_sequence<int, i...>) {
  std::memcpy(v, x, vectors * sizeof(*v));
  if constexpr (!std::is_same_v<T, BFloat16>) return;
#pragma GCC unroll 4
  for (int k = 0; k < vectors; k += 2) {
    const auto low = v[k], high = v[k + 1];
    v[k] = __builtin_shufflevector(low, high, (2 * i)...);
    v[k + 1] = __builtin_shufflevector(low, high, (2 * i + 1)...);
  }
}
template <typename T, int lanes, int vectors, int... i>
XLA_FFI_OPS_HD void FromOrderOf(Vec<float, lanes>* v, float* x,
                                std::integer_sequence<int, i...>) {
  if constexpr (std::is_same_v<T, BFloat16>) {
#pragma GCC unroll 4
    for (int k = 0; k < vectors; k += 2) {
      const auto even = v[k], odd = v[k + 1];
      v[k] = __builtin_shufflevector(even, odd, (i / 2 + i % 2 * lanes)...);
      v[k + 1] = __builtin_shufflevector(
          even, odd, (lanes / 2 + i / 2 + i % 2 * lanes)...);
    }
  }
  std::memcpy(x, v, vectors * sizeof(*v));
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_VEC_HALF_VECTORS_H_
