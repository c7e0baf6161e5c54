// SPDX-License-Identifier: Apache-2.0
// Linear recurrences in many columns: a vector has several columns.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCE_COLUMNS_H_
#define XLA_FFI_OPS_SCANS_RECURRENCE_COLUMNS_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/scans/recurrence.h"

namespace xla_ffi_ops {
namespace internal {

// Columns that are computed at a time: what a step needs fits the fastest
// cache.
inline constexpr int64_t kRecurrenceColumns = 1024;

// One step of n columns. All have the factor a[0] if `is_one`.
template <typename E>
XLA_FFI_OPS_HD void RecurrenceStep(const E* a, bool is_one, const E* before,
                                   const E* b, E* h, int64_t n) {
  if (is_one) {
    const E factor = a[0];
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) h[j] = MultiplyAdd(factor, before[j], b[j]);
  } else {
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) h[j] = MultiplyAdd(a[j], before[j], b[j]);
  }
}

// Copies columns [begin, begin + n) of x, which points to one step.
template <typename T, typename E>
void LoadColumns(const RecurrenceOperand<T>& operand, const T* x, int64_t begin,
                 int64_t n, int64_t columns, E* to) {
  if (operand.width == columns) return Numbers<T>::To(x + begin, to, n);
  T gathered[kRecurrenceColumns];
  for (int64_t j = 0; j < n; ++j) gathered[j] = x[operand.columns(begin + j)];
  Numbers<T>::To(gathered, to, n);
}

// Computes n columns from `begin` on. They are read and written where they are.
template <typename T>
void RecurrenceInPlace(const Recurrence<T>& call, int64_t row, int64_t begin,
                       int64_t n, const T* h0) {
  const int64_t width = call.a.width;
  const T* const a = call.a.Row(row) + (width == 1 ? 0 : begin);
  const T* const b = call.b.Row(row) + begin;
  T* const h = call.Row(row) + begin;
  AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
    const T one = 1;
    for (int64_t i = 0; i < call.n; ++i) {
      const bool is_first = call.shifted && i == 0;
      const T* const factors =
          is_first ? &one : a + call.At(i - call.shifted) * width;
      const int64_t at = call.At(i) * call.columns;
      const T* const before = i == 0 ? h0 : h + call.At(i - 1) * call.columns;
      RecurrenceStep(factors, is_first || width == 1, before, b + at, h + at,
                     n);
    }
  });
}

// Likewise, but what is read and written is copied, and converted.
template <typename T, typename E>
void RecurrenceInCopies(const Recurrence<T>& call, int64_t row, int64_t begin,
                        int64_t n, E* state) {
  const int64_t columns = call.columns;
  const bool has_one = call.a.width == 1;
  const T* const a = call.a.Row(row);
  const T* const b = call.b.Row(row);
  T* const h = call.Row(row) + begin;
  E factors[kRecurrenceColumns], terms[kRecurrenceColumns];
  for (int64_t i = 0; i < call.n; ++i) {
    const bool is_first = call.shifted && i == 0;
    if (is_first) {
      factors[0] = 1;
    } else {
      LoadColumns(call.a, a + call.At(i - call.shifted) * call.a.width, begin,
                  has_one ? 1 : n, columns, factors);
    }
    LoadColumns(call.b, b + call.At(i) * call.b.width, begin, n, columns,
                terms);
    AtCpuLevel([&]() XLA_FFI_OPS_INLINED {
      RecurrenceStep(factors, is_first || has_one, state, terms, state, n);
    });
    Numbers<T>::From(state, h + call.At(i) * columns, n);
  }
}

}  // namespace internal

template <typename T>
void RunRecurrenceColumns(const Recurrence<T>& call, int64_t row, int64_t begin,
                          int64_t end) {
  using E = typename internal::Numbers<T>::Element;
  constexpr int64_t kMost = internal::kRecurrenceColumns;
  const int64_t columns = call.columns, width = call.a.width;
  for (; begin < end; begin += kMost) {
    const int64_t n = std::min(end - begin, kMost);
    E state[kMost];
    if (call.h0.data == nullptr) {
      std::fill_n(state, n, E(0));
    } else {
      internal::LoadColumns(call.h0, call.h0.Row(row), begin, n, columns,
                            state);
    }
    if constexpr (std::is_same_v<T, E>) {
      if ((width == 1 || width == columns) && call.b.width == columns) {
        internal::RecurrenceInPlace(call, row, begin, n, state);
        continue;
      }
    }
    internal::RecurrenceInCopies(call, row, begin, n, state);
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_RECURRENCE_COLUMNS_H_
