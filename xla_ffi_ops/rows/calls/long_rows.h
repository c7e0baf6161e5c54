// SPDX-License-Identifier: Apache-2.0
// Runs a formula over a few long rows on the CPU, with several threads for each
// row.
#ifndef XLA_FFI_OPS_ROWS_CALLS_LONG_ROWS_H_
#define XLA_FFI_OPS_ROWS_CALLS_LONG_ROWS_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/threads/handler_result.h"
#include "xla_ffi_ops/threads/parallel.h"

namespace xla_ffi_ops::internal {

// Whether rows are long, and too few to keep all threads busy.
//
// How threads share the work changes no bit of a result: the statistics of the
// pieces of a row, and the terms of sums over rows, are added in the order in
// which one thread would add them. Where SumGroups would add up parts of the
// sums, calls are not split.
bool AreLongRows(const CpuContext& device, int64_t rows, int64_t cols);

// Stores the sums of a group over the columns [begin, end), rounded once.
template <typename Acc>
using StoreSums = std::function<void(const Acc* sums, int64_t group,
                                     int64_t begin, int64_t end)>;

// The work on long rows.
template <typename Acc>
struct LongRows {
  RowRange range;
  int64_t passes;               // of the formula
  int64_t bytes_per_col;        // that are moved, in a row
  int64_t sums;                 // that are wanted: sums over rows
  std::shared_ptr<void> known;  // a Formula::Row for each row

  // Runs the part of the formula that `range` has, over one group of rows.
  std::function<void(const RowRange& range, Acc* sums)> run;
  StoreSums<Acc> store;
};

// For float and double.
template <typename Acc>
HandlerResult SplitLongRows(const CpuContext& device, LongRows<Acc> rows);

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_ROWS_CALLS_LONG_ROWS_H_
