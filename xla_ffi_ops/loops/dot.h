// SPDX-License-Identifier: Apache-2.0
// Products of matrices whose elements are lanes, or scalars.
#ifndef XLA_FFI_OPS_LOOPS_DOT_H_
#define XLA_FFI_OPS_LOOPS_DOT_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/lanes/lanes.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::lanes {

namespace internal {

template <int n>
using Indices = std::make_integer_sequence<int, n>;

// Columns of a row, from column `from` on: a vector of scalars, or one element.
// Past the end, the last column is repeated.
template <int cols, int from, typename T, int... l>
XLA_FFI_OPS_HD auto Columns(const T* row, std::integer_sequence<int, l...>) {
  if constexpr (sizeof...(l) == 1) {
    return row[from];
  } else {
    return Vector<T, sizeof...(l)>{
        row[from + l < cols ? from + l : cols - 1]...};
  }
}

template <int cols, int from, typename V, typename A, typename B, int... k,
          int... l>
XLA_FFI_OPS_HD void DotPart(V* to, const A* a, const B* b,
                            std::integer_sequence<int, k...>,
                            std::integer_sequence<int, l...> part) {
  auto sum = a[0] * Columns<cols, from>(b, part);
  ((sum = math::MulAdd(a[k + 1], Columns<cols, from>(b + (k + 1) * cols, part),
                       sum)),
   ...);
  if constexpr (sizeof...(l) == 1) {
    to[from] = sum;
  } else {
    ((from + l < cols ? void(to[from + l] = sum[l]) : void()), ...);
  }
}

template <int depth, int cols, int together, typename V, typename A, typename B,
          int... part>
XLA_FFI_OPS_HD void DotRow(V* to, const A* a, const B* b,
                           std::integer_sequence<int, part...>) {
  (DotPart<cols, part * together>(
       to, a, b, Indices<depth - 1>(),
       Indices<(cols - part * together == 1 ? 1 : together)>()),
   ...);
}

template <int depth, int cols, typename V, typename A, typename B, int... row>
XLA_FFI_OPS_HD void DotRows(V* to, const A* a, const B* b,
                            std::integer_sequence<int, row...>) {
  // Of 8, g++ takes the elements apart with more instructions than it saves.
  constexpr int kTogether = kIsScalar<V> ? 4 : 1;
  constexpr int kParts = (cols + kTogether - 1) / kTogether;
  (DotRow<depth, cols, kTogether>(to + row * cols, a + row * depth, b,
                                  Indices<kParts>()),
   ...);
}

}  // namespace internal

// a b, [rows, depth] and [depth, cols], each sum from the first product on.
// With one lane, four neighbors are a vector. All is unrolled: arrays become
// registers.
template <int rows, int depth, int cols, typename V, typename A, typename B>
XLA_FFI_OPS_HD void Dot(V (&to)[rows * cols], const A (&a)[rows * depth],
                        const B (&b)[depth * cols]) {
  internal::DotRows<depth, cols>(to, a, b, internal::Indices<rows>());
}

namespace internal {

// Rows that one tile of a product has: each element of b that it reads serves
// all of them.
inline constexpr int kTileRows = 4;

// Elements of b: those of all lanes, or neighbors where V is a scalar.
template <typename U, typename V, typename B>
XLA_FFI_OPS_HD U Neighbors(const B* b) {
  if constexpr (kIsScalar<V>) {
    U found;
    std::memcpy(&found, b, sizeof(U));
    return found;
  } else if constexpr (kIsScalar<B>) {
    return math::Splat<U>(*b);
  } else {
    return *b;
  }
}

// Some rows, and `vectors` of U from the first column on.
template <int depth, int cols, int vectors, typename U, typename V, typename A,
          typename B>
XLA_FFI_OPS_HD void Tile(V* to, const A* a, const B* b) {
  constexpr int kStep = sizeof(U) / sizeof(V);
  U sums[kTileRows][vectors] = {};
  for (int64_t k = 0; k < depth; ++k) {
    U row[vectors];
    for (int j = 0; j < vectors; ++j) {
      row[j] = Neighbors<U, V>(b + k * cols + j * kStep);
    }
    for (int i = 0; i < kTileRows; ++i) {
      for (int j = 0; j < vectors; ++j) {
        sums[i][j] = math::MulAdd(a[i * depth + k], row[j], sums[i][j]);
      }
    }
  }
  for (int i = 0; i < kTileRows; ++i) {
    std::memcpy(to + i * cols, sums[i], sizeof(sums[i]));
  }
}

// The last tiles begin earlier where they would pass the end: they write once
// more what others wrote.
template <int rows, int depth, int cols, int vectors, typename U, typename V,
          typename A, typename B>
XLA_FFI_OPS_HD void Tiles(V* to, const A* a, const B* b) {
  constexpr int kStep = vectors * sizeof(U) / sizeof(V);
  static_assert(rows >= kTileRows && cols >= kStep);
  for (int64_t i = 0; i < rows; i += kTileRows) {
    const int64_t row = std::min<int64_t>(i, rows - kTileRows);
    for (int64_t j = 0; j < cols; j += kStep) {
      const int64_t col = std::min<int64_t>(j, cols - kStep);
      Tile<depth, cols, vectors, U>(to + row * cols + col, a + row * depth,
                                    b + col);
    }
  }
}

}  // namespace internal

// The same of at least 4 rows and columns, in memory. Each sum begins with 0.
template <int rows, int depth, int cols, typename V, typename A, typename B>
XLA_FFI_OPS_HD void Product(V* to, const A* a, const B* b) {
  if constexpr (!kIsScalar<V>) {
    internal::Tiles<rows, depth, cols, 2, V>(to, a, b);
  } else {
    constexpr int kMost = 32 / sizeof(V);
    constexpr int kTogether = cols < kMost ? 4 : kMost;
    constexpr int kVectors = cols < 2 * kTogether ? 1 : 2;
    using U = Vector<V, kTogether>;
    internal::Tiles<rows, depth, cols, kVectors, U>(to, a, b);
  }
}

}  // namespace xla_ffi_ops::lanes

#endif  // XLA_FFI_OPS_LOOPS_DOT_H_
