// SPDX-License-Identifier: Apache-2.0
// How the loops over a piece of a row on the CPU load and store its elements: n
// at a time.
#ifndef XLA_FFI_OPS_VEC_ROW_ELEMENTS_H_
#define XLA_FFI_OPS_VEC_ROW_ELEMENTS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/half_vectors.h"
#include "xla_ffi_ops/vec/memory.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::internal {

template <int n>
using Count = std::integral_constant<int, n>;

// How many elements most loops take at a time: four vectors of AVX2.
template <typename Acc>
inline constexpr int kRowBlock = 128 / sizeof(Acc);

// Calls block(j, Count<m>()) for m elements from j on, until all n are done. m
// is `most`, and less for those at the end.
template <int most, typename Block>
XLA_FFI_OPS_HD void ForBlocks(int64_t n, const Block& block) {
  int64_t j = 0;
  for (; n - j >= most; j += most) block(j, Count<most>());
  for (; n - j >= most / 4; j += most / 4) block(j, Count<most / 4>());
  for (; j < n; ++j) {
    block(j, Count<1>());
    asm volatile("");  // Vectorized, these few would be most of the code.
  }
}

// A piece has Take<level, n>(j), which has its n elements from j on, and kLine:
// how many elements are in a line of a cache.

template <typename T>
struct Elements {
  static constexpr int kLine = 64 / sizeof(T);
  template <int, int>
  XLA_FFI_OPS_HD Elements Take(int64_t j) const {
    return {data + j};
  }
  XLA_FFI_OPS_HD T operator[](int64_t k) const { return data[k]; }

  const T* data;
};

// Elements of 16 bits, which are converted in registers.
template <typename T>
struct HalfElements {
  static constexpr int kLine = 64 / sizeof(T);
  template <int n>
  struct Block {
    XLA_FFI_OPS_HD float operator[](int64_t k) const { return values[k]; }
    float values[n];
  };
  template <int level, int n>
  XLA_FFI_OPS_HD Block<n> Take(int64_t j) const {
    Block<n> block;
    WidenBlock<level, n>(data + j, block.values);
    return block;
  }

  const T* data;
};

// All elements are one number: nothing is loaded.
template <typename T>
struct SameElements {
  static constexpr int kLine = 1;
  template <int, int>
  XLA_FFI_OPS_HD SameElements Take(int64_t) const {
    return *this;
  }
  XLA_FFI_OPS_HD T operator[](int64_t) const { return value; }

  T value;
};

// Stores n elements of a piece, from j on. Only whole blocks go past the
// caches; they must begin at a line.
template <int level, bool nontemporal, typename T, typename Acc, int n>
XLA_FFI_OPS_HD void Put(const Acc (&values)[n], T* piece, int64_t j) {
  constexpr bool past = nontemporal && n == kRowBlock<Acc>;
  if constexpr (std::is_same_v<T, Acc>) {
    constexpr int lanes = std::min<int>(n, kVectorBytes<level> / sizeof(T));
    // By vectors: g++ 12 copies a whole block 16 bytes at a time.
#pragma GCC unroll 8
    for (int i = 0; i < n; i += lanes) {
      Vec<T, lanes> v;
      std::memcpy(&v, values + i, sizeof(v));
      StoreVector<past>(v, piece + j + i);
    }
  } else {
    NarrowBlock<level, n, past>(values, piece + j);
  }
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_VEC_ROW_ELEMENTS_H_
