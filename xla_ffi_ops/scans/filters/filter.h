// SPDX-License-Identifier: Apache-2.0
// Linear filters on the CPU, in direct form II transposed: a cascade of
// sections of one order m. Each of them computes, with z[m] = 0,
//   y = z[0] + b0 x,  z[k] = z[k+1] + b[k] x - a[k] y  for k = 0 to m - 1,
// at each step, in this order. The next section's x is this one's y.
#ifndef XLA_FFI_OPS_SCANS_FILTERS_FILTER_H_
#define XLA_FFI_OPS_SCANS_FILTERS_FILTER_H_

#include <cstdint>

#include "xla_ffi_ops/scans/recurrences/recurrence.h"

namespace xla_ffi_ops {

// A call. Its operands and results are [rows, steps, columns]: steps of b0 are
// sections, those of b, a, zi and zf are of all sections.
template <typename T>
struct FilterOperands {
  int64_t sections, order, n, columns;
  bool reverse;
  RecurrenceOperand<T> b0, b, a, x, zi;
};
template <typename T>
struct Filter : FilterOperands<T> {
  T *zf, *y;
};

// The backward pass: y and the cotangents of the results of a call, and those
// of its operands, which are null if they are not wanted.
template <typename T>
struct FilterGradients : FilterOperands<T> {
  RecurrenceOperand<T> y, dzf, dy;
  T *db0, *db, *da, *dx, *dzi;
};

// How many signals are filtered at a time, at most.
template <typename T>
int64_t FilterSignalsAtOnce();

// Filters signals [begin, end), of which each row has one in each column.
template <typename T>
void RunFilter(const Filter<T>& call, int64_t begin, int64_t end);
template <typename T>
void RunFilter(const FilterGradients<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_FILTERS_FILTER_H_
