// SPDX-License-Identifier: Apache-2.0
// Logarithms of running sums of exponentials, on the CPU.
#ifndef XLA_FFI_OPS_SCANS_LOG_SUM_EXP_H_
#define XLA_FFI_OPS_SCANS_LOG_SUM_EXP_H_

#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/scans/log_sum.h"
#include "xla_ffi_ops/scans/scan_ops.h"
#include "xla_ffi_ops/scans/scan_row.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/exp_sums.h"

namespace xla_ffi_ops::internal {

// Returns where x first has an element, from `begin` on, that is above the
// reference; or n.
template <typename E>
XLA_FFI_OPS_HD int64_t FindAbove(const E* x, int64_t begin, int64_t n,
                                 E reference) {
  using Flag = std::conditional_t<sizeof(E) == 8, int64_t, int32_t>;
  constexpr int64_t kStep = 64;
  for (; begin + kStep <= n; begin += kStep) {
    Flag found = 0;
    for (int64_t i = begin; i < begin + kStep; ++i) {
      found |= LogSum<E>::IsAbove(x[i], reference) ? 1 : 0;
    }
    if (found) break;
  }
  while (begin < n && !LogSum<E>::IsAbove(x[begin], reference)) ++begin;
  return begin;
}

// Adds the first elements of x to `sum`. Writes the logarithm of each sum to y,
// which may be x, unless it is null. `space` is for n elements.
template <typename E>
void LogSumExpRow(const E* x, E* y, int64_t n, LogSum<E>* sum, E* space) {
  AtCpuLevel([=](auto level) XLA_FFI_OPS_INLINED {
    constexpr int lanes = kVectorBytes<decltype(level)::value> / sizeof(double);
    LogSum<E> total = *sum;
    for (int64_t begin = 0, end; begin < n; begin = end + 1) {
      const E reference = total.reference;
      end = FindAbove(x, begin, n, reference);
      const int64_t count = end - begin;
      for (int64_t i = 0; i < count; ++i) {
        space[i] = LogSum<E>::Exp(x[begin + i], reference);
      }
      if (count > 0) {
        total.others = VectorScan<Sum, E, false, lanes>(-0.0, total.others)
                           .Run(space, y == nullptr ? nullptr : space, count);
      }
      for (int64_t i = 0; i < count && y != nullptr; ++i) {
        y[begin + i] = reference + LogOnePlus(space[i]);
      }
      if (end == n) break;
      total.Raise(x[end]);
      if (y != nullptr) y[end] = total.Log();
    }
    *sum = total;
  });
}

// One step of the scans of n columns.
template <typename E>
void LogSumExpStep(const E* x, E* y, E* references, double* others, int64_t n) {
  AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
    for (int64_t j = 0; j < n; ++j) {
      const E before = references[j];
      const bool is_above = LogSum<E>::IsAbove(x[j], before);
      const E next = is_above ? x[j] : before;
      const E exp = LogSum<E>::Exp(is_above ? before : x[j], next);
      const double sum = others[j];
      others[j] = is_above ? (1 + sum) * exp : sum + exp;
      references[j] = next;
      y[j] = next + LogOnePlus(static_cast<E>(others[j]));
    }
  });
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_LOG_SUM_EXP_H_
