// SPDX-License-Identifier: Apache-2.0
// The logarithm of each column's sum of exponentials. Running sums are not
// stored.
#ifndef XLA_FFI_OPS_SCANS_LOG_SUM_EXP_TOTALS_H_
#define XLA_FFI_OPS_SCANS_LOG_SUM_EXP_TOTALS_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/scans/column_totals.h"
#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/scans/log_sum_exp.h"
#include "xla_ffi_ops/vec/cpu_level.h"

namespace xla_ffi_ops::internal {

// The sums of `steps` steps of n columns at once: sums[j] exp(references[j]) is
// the sum of column j so far, of exponentials. The largest of the elements is
// the next reference, if it is above the one before.
template <int steps, typename E>
void AddExponentials(const E* x, int64_t stride, E* references, double* sums,
                     int64_t n) {
  AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
    for (int64_t j = 0; j < n; ++j) {
      const E before = references[j];
      E next = x[j];
#pragma GCC unroll 8
      for (int i = 1; i < steps; ++i) {
        const E more = x[i * stride + j];
        next = more > next ? more : next;
      }
      next = LogSum<E>::IsAbove(next, before) ? next : before;
      E sum = 0;
#pragma GCC unroll 8
      for (int i = 0; i < steps; ++i) {
        sum += LogSum<E>::Exp(x[i * stride + j], next);
      }
      sums[j] = sums[j] * LogSum<E>::Exp(before, next) + sum;
      references[j] = next;
    }
  });
}

// The sums of up to kMost columns.
template <typename T, int64_t kMost>
struct LogSums {
  using E = ElementOf<T>;

  // Adds up n steps of `columns` columns at x.
  LogSums(const T* x, int64_t n, int64_t stride, int64_t columns)
      : count(columns) {
    std::fill_n(references, count, LogSum<E>().reference);
    std::fill_n(sums, count, 0.0);
    ForSteps<Numbers<T>>(
        x, n, stride, count, [this](auto steps, const E* some, int64_t apart) {
          AddExponentials<steps>(some, apart, references, sums, count);
        });
  }

  LogSum<E> of(int64_t j) const { return {references[j], sums[j] - 1}; }

  // The sum of all columns. There have to be kMost.
  LogSum<E> All() const {
    const E largest = *std::max_element(references, references + kMost);
    double shares[kMost], sum = 0;
    AtCpuLevel([&]() XLA_FFI_OPS_INLINED {
      for (int64_t j = 0; j < kMost; ++j) {
        shares[j] = sums[j] * LogSum<E>::Exp(references[j], largest);
      }
    });
    for (const double share : shares) sum += share;
    return {largest, sum - 1};
  }

  int64_t count;
  E references[kMost];
  double sums[kMost];
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_LOG_SUM_EXP_TOTALS_H_
