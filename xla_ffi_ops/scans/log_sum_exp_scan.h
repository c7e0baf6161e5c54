// SPDX-License-Identifier: Apache-2.0
// The ScanKernel of logarithms of running sums of exponentials.
#ifndef XLA_FFI_OPS_SCANS_LOG_SUM_EXP_SCAN_H_
#define XLA_FFI_OPS_SCANS_LOG_SUM_EXP_SCAN_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "xla_ffi_ops/scans/column_totals.h"
#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/scans/log_sum_exp.h"
#include "xla_ffi_ops/scans/log_sum_exp_totals.h"
#include "xla_ffi_ops/scans/scan_kernel.h"
#include "xla_ffi_ops/scans/scan_ops.h"
#include "xla_ffi_ops/scans/typed_scan.h"

namespace xla_ffi_ops::internal {

template <typename T>
class LogSumExpScan final : public ScanKernel {
  using Elements = Numbers<T>;
  using E = typename Elements::Element;
  // An element takes an exponential function and a logarithm: about as long as
  // to move so many bytes.
  static constexpr int kWork = 64;
  // Chosen with 4096 rows: longer ones are scanned sooner than transposed.
  static constexpr int kFew = 64;

 public:
  LogSumExpScan(int64_t n, bool reverse, const void* starts)
      : ScanKernel(n, reverse, starts, sizeof(T), kWork, kFew,
                   /*in_blocks=*/true) {}

  void Rows(const void* from, void* to, int64_t first,
            int64_t rows) const override {
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    for (int64_t row = first; row < first + rows; ++row, x += n, y += n) {
      ScanState base = Start(row);
      for (int64_t b = 0; b * kScanBlock < n; ++b) {
        const ScanBlock block(n, reverse, b);
        const ScanState total =
            block.is_last ? ScanState() : Total(x + block.begin, block.count);
        Block(x + block.begin, y + block.begin, block.count, base);
        if (!block.is_last) base = Join(base, total);
      }
    }
  }

  void Columns(const void* from, void* to, int64_t first, int64_t stride,
               int64_t width) const override {
    constexpr int64_t kMost = 1024;  // states fit the fastest cache
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    for (; width > 0; width -= kMost, first += kMost, x += kMost, y += kMost) {
      const int64_t count = std::min(width, kMost);
      E references[kMost], elements[kMost];
      double others[kMost];
      for (int64_t j = 0; j < count; ++j) {
        const LogSum<E> start = StartOf(first + j);
        references[j] = start.reference;
        others[j] = start.others;
      }
      for (int64_t i = 0; i < n; ++i) {
        const int64_t at = (reverse ? n - 1 - i : i) * stride;
        FetchStep(x + at, y + at, stride, count);
        Elements::To(x + at, elements, count);
        LogSumExpStep(elements, elements, references, others, count);
        Elements::From(elements, y + at, count);
      }
    }
  }

  void ColumnTotals(const void* from, void* totals, int64_t first,
                    int64_t stride, int64_t width) const override {
    const T* x = static_cast<const T*>(from);
    for (; width > 0; width -= kTotals, first += kTotals, x += kTotals) {
      const int64_t count = std::min(width, kTotals);
      const LogSums<T, kTotals> columns(x, n, stride, count);
      for (int64_t j = 0; j < count; ++j) {
        StoreTotal(ScanState::Of(columns.of(j)), totals, first + j);
      }
    }
  }

  ScanState Start(int64_t row) const override {
    return ScanState::Of(StartOf(row));
  }
  ScanState Total(const void* x, int64_t count) const override {
    constexpr int64_t kColumns = 32;  // two vectors, at most
    const T* const from = static_cast<const T*>(x);
    const int64_t steps = count / kColumns;
    LogSum<E> sum;
    if (steps > 0) {
      sum = LogSums<T, kColumns>(from, steps, kColumns, kColumns).All();
    }
    Scan(from + steps * kColumns, nullptr, count - steps * kColumns, &sum);
    return ScanState::Of(sum);
  }
  ScanState Join(ScanState base, ScanState total) const override {
    auto sum = base.Value<LogSum<E>>(), more = total.Value<LogSum<E>>();
    // As for elements. Otherwise, each of many blocks could multiply, and
    // round, all that is before it.
    if (LogSum<E>::IsAbove(more.reference, sum.reference)) std::swap(sum, more);
    sum.others +=
        (1 + more.others) * LogSum<E>::Exp(more.reference, sum.reference);
    return ScanState::Of(sum);
  }
  void StoreTotal(ScanState total, void* totals, int64_t index) const override {
    static_cast<E*>(totals)[index] = total.Value<LogSum<E>>().Log();
  }
  void Block(const void* x, void* y, int64_t count,
             ScanState base) const override {
    auto sum = base.Value<LogSum<E>>();
    Scan(static_cast<const T*>(x), static_cast<T*>(y), count, &sum);
  }

 private:
  // What comes before is like one element.
  LogSum<E> StartOf(int64_t index) const {
    LogSum<E> sum;
    if (starts != nullptr) sum.Raise(static_cast<const E*>(starts)[index]);
    return sum;
  }

  // Adds n elements to `sum`, and writes the logarithms to y unless it is null.
  void Scan(const T* x, T* y, int64_t n, LogSum<E>* sum) const {
    constexpr int64_t kPiece = 1024;
    E piece[kPiece], space[kPiece];
    for (int64_t done = 0; done < n; done += kPiece) {
      const int64_t count = std::min(kPiece, n - done);
      const int64_t at = reverse ? n - done - count : done;
      const int64_t ahead = at + (reverse ? -count : count);
      Fetch<false>(x + ahead, count);
      Elements::To(x + at, piece, count);
      if (reverse) std::reverse(piece, piece + count);
      LogSumExpRow(piece, y == nullptr ? nullptr : piece, count, sum, space);
      if (y == nullptr) continue;
      if (reverse) std::reverse(piece, piece + count);
      Fetch<true>(y + ahead, count);
      Elements::From(piece, y + at, count);
    }
  }
};

template <typename T>
struct ScanOf<LogSumExp, T> {
  using type = LogSumExpScan<T>;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_LOG_SUM_EXP_SCAN_H_
