// SPDX-License-Identifier: Apache-2.0
// Sums of rows or columns that store no running sums.
#ifndef XLA_FFI_OPS_SCANS_TOTAL_H_
#define XLA_FFI_OPS_SCANS_TOTAL_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/scans/vectors.h"

namespace xla_ffi_ops {
namespace internal {

template <typename E>
double TotalOf(const E* x, int64_t n) {
  double total = 0;
  AtCpuLevel([&total, x, n](auto level) XLA_FFI_OPS_INLINED {
    constexpr int lanes = kVectorBytes<decltype(level)::value> / sizeof(double);
    constexpr int kSums = 4;  // additions that do not wait for each other
    Vec<double, lanes> sums[kSums] = {}, next;
    int64_t i = 0;
    for (; i + kSums * lanes <= n; i += kSums * lanes) {
      for (int k = 0; k < kSums; ++k) {
        Load<double, lanes>(x + i + k * lanes, &next);
        sums[k] += next;
      }
    }
    for (int k = 1; k < kSums; ++k) sums[0] += sums[k];
    for (int lane = 0; lane < lanes; ++lane) total += sums[0][lane];
    for (; i < n; ++i) total += x[i];
  });
  return total;
}

}  // namespace internal

// The sums of the columns of x, [n, columns].
template <typename T>
void ColumnTotals(const T* x, int64_t n, int64_t columns, double* totals) {
  using Elements = internal::Numbers<T>;
  constexpr int64_t kPiece = 4096;  // fits the fastest cache
  typename Elements::Element piece[kPiece];
  std::fill_n(totals, columns, 0.0);
  const bool is_row = columns == 1;
  const int64_t rows = is_row ? 1 : n, width = is_row ? n : columns;
  for (int64_t at = 0; at < width; at += kPiece) {
    const int64_t count = std::min(kPiece, width - at);
    for (int64_t row = 0; row < rows; ++row) {
      const auto* elements = piece;
      if constexpr (Elements::kConverts) {
        Elements::To(x + row * width + at, piece, count);
      } else {
        elements = x + row * width + at;
      }
      if (is_row) {
        *totals += internal::TotalOf(elements, count);
        continue;
      }
      double* const sums = totals + at;
      AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
        for (int64_t j = 0; j < count; ++j) sums[j] += elements[j];
      });
    }
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_TOTAL_H_
