// SPDX-License-Identifier: Apache-2.0
// Converts numbers of 16 bits to float and back, in registers.
#ifndef XLA_FFI_OPS_VEC_HALF_VECTORS_H_
#define XLA_FFI_OPS_VEC_HALF_VECTORS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "xla_ffi_ops/vec/bfloat16_vectors.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/shuffles.h"
#include "xla_ffi_ops/vec/store_vector.h"
#include "xla_ffi_ops/vec/vec.h"
#include "xla_ffi_ops/vec/x86.h"

namespace xla_ffi_ops::internal {

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
