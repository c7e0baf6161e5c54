// SPDX-License-Identifier: Apache-2.0
// Vectors of numbers of 16 bits, in the orders in which scans take them, for at
// least four lanes of double: such processors have AVX2 and F16C.
#ifndef XLA_FFI_OPS_SCANS_SCAN_HALVES_H_
#define XLA_FFI_OPS_SCANS_SCAN_HALVES_H_

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/half_vectors.h"
#include "xla_ffi_ops/vec/shuffles.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::internal {

// The two halves of a vector of n lanes, and the vector of two halves.
template <typename T, int n, int... i>
XLA_FFI_OPS_HD void Cut(const Vec<T, n>& x, Vec<T, n / 2>* low,
                        Vec<T, n / 2>* high, std::integer_sequence<int, i...>) {
  *low = __builtin_shufflevector(x, x, i...);
  *high = __builtin_shufflevector(x, x, (n / 2 + i)...);
}
template <typename T, int n, int... i>
XLA_FFI_OPS_HD void Join(const Vec<T, n / 2>& low, const Vec<T, n / 2>& high,
                         Vec<T, n>* x, std::integer_sequence<int, i...>) {
  *x = __builtin_shufflevector(low, high, i...);
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

// Transposes a matrix with so many columns.
template <int columns, int n, int... i>
XLA_FFI_OPS_HD void Transpose(Vec<int32_t, n>* x,
                              std::integer_sequence<int, i...>) {
  constexpr int rows = n / columns;
  Shuffle<n, (i % rows * columns + i / rows)...>(*x, *x, x);
}
// The same for the 2 by 4 matrix in each 16 bytes, or 4 by 2.
template <int columns, int n, int... i>
XLA_FFI_OPS_HD void TransposeEach(Vec<int16_t, n>* x,
                                  std::integer_sequence<int, i...>) {
  constexpr int rows = 8 / columns;
  *x = __builtin_shufflevector(
      *x, *x, (i / 8 * 8 + i % rows * columns + i % 8 / rows)...);
}

// Reads and writes as many numbers, of any width, as a vector has lanes.
template <typename T, int lanes>
XLA_FFI_OPS_HD void ReadOne(const T* x, Vec<ElementOf<T>, lanes>* v) {
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
XLA_FFI_OPS_HD void WriteOne(const Vec<ElementOf<T>, lanes>& v, T* y) {
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

#endif  // XLA_FFI_OPS_SCANS_SCAN_HALVES_H_
