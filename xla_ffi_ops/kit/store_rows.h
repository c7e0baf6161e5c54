// SPDX-License-Identifier: Apache-2.0
// Stores what a formula (formula.h) makes of elements of several rows.
#ifndef XLA_FFI_OPS_KIT_STORE_ROWS_H_
#define XLA_FFI_OPS_KIT_STORE_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/pairs.h"

namespace xla_ffi_ops::internal {

// Of one operand, for kRows rows.
template <typename Line, int kRows>
struct Lines {
  Line line[kRows];
};
template <typename Line, typename... Same>
Lines(Line, Same...) -> Lines<Line, 1 + sizeof...(Same)>;

template <typename In, size_t... i>
XLA_FFI_OPS_HD auto LinesAt(const In& in, int64_t row,
                            std::index_sequence<i...>) {
  return Lines{in[row + i]...};
}

// Stores element j of rows i, i + 1, ... and returns their terms of the sums
// over rows. No loop over i: that is unrolled too late for its structs to
// become variables. Nor is `sums` a reference, which would be in memory. All is
// loaded before the stores: as an output could be an input, the compiler would
// load it once more.
template <int m, int i, int kRows, typename F, typename Out, typename Sums,
          typename... Line>
XLA_FFI_OPS_HD Sums StoreFrom(const F& f, const typename F::Row* row,
                              int64_t cols, int64_t j, const Out& out,
                              Sums sums, const Lines<Line, kRows>&... x) {
  if constexpr (i < kRows) {
    const auto values = f.Store(row[i], Load(kSingle, x.line[i], j)...);
    if constexpr (m > 0) {
      sums.Combine(f.Column(row[i], Load(kSingle, x.line[i], j)...));
    }
    out.data[0][i * cols + j] = values.value[0];
    if constexpr (Out::kSize > 1) out.data[1][i * cols + j] = values.value[1];
    return StoreFrom<m, i + 1>(f, row, cols, j, out, sums, x...);
  }
  return sums;
}

struct None {};
template <typename T>
struct Two {
  T first, second;
};

// The same for elements j and j + 1.
template <int m, int i, int kRows, typename F, typename Out, typename Sums,
          typename... Line>
XLA_FFI_OPS_HD Sums StorePairFrom(const F& f, const typename F::Row* row,
                                  int64_t cols, int64_t j, const Out& out,
                                  Sums sums, const Lines<Line, kRows>&... x) {
  if constexpr (i < kRows) {
    const auto first = f.Store(row[i], Load(kFirst, x.line[i], j)...);
    const auto second = f.Store(row[i], Load(kSecond, x.line[i], j)...);
    if constexpr (m > 0) {
      sums.first.Combine(f.Column(row[i], Load(kFirst, x.line[i], j)...));
      sums.second.Combine(f.Column(row[i], Load(kSecond, x.line[i], j)...));
    }
    StorePair(out.data[0] + i * cols, j, first.value[0], second.value[0]);
    if constexpr (Out::kSize > 1) {
      StorePair(out.data[1] + i * cols, j, first.value[1], second.value[1]);
    }
    return StorePairFrom<m, i + 1>(f, row, cols, j, out, sums, x...);
  }
  return sums;
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_STORE_ROWS_H_
