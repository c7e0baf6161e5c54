// SPDX-License-Identifier: Apache-2.0
// Products of small matrices whose elements are lanes, or scalars.
#ifndef XLA_FFI_OPS_LOOPS_DOT_H_
#define XLA_FFI_OPS_LOOPS_DOT_H_

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

}  // namespace xla_ffi_ops::lanes

#endif  // XLA_FFI_OPS_LOOPS_DOT_H_
