// SPDX-License-Identifier: Apache-2.0
// The recurrences of one pole of a spline's filter on the CPU:
//   y[t] = pole y[t-1] + x[t],  c[t] = pole c[t+1] - pole gain y[t].
// What is before the line, y[-1] and c[n] / gain, are weighted sums of elements
// of x and of y.
#ifndef XLA_FFI_OPS_OPS_SPLINE_FILTER1D_SPLINE_FILTER1D_H_
#define XLA_FFI_OPS_OPS_SPLINE_FILTER1D_SPLINE_FILTER1D_H_

#include <cstdint>
#include <vector>

#include "xla_ffi_ops/scans/recurrences/recurrence.h"

namespace xla_ffi_ops {

// The sum of weights[i] of the elements first + i of a line.
template <typename T>
struct WeightedPart {
  int64_t first;
  std::vector<T> weights;
};

// A call. x and c are [rows, n, columns]. A line is a column of a row.
template <typename T>
struct SplineFilter {
  int64_t n, columns;
  T pole, gain;
  WeightedPart<T> before, behind;
  RecurrenceOperand<T> x;
  T* c;
};

// How many lines of n elements are filtered at a time, at most.
template <typename T>
int64_t SplineLinesAtOnce(int64_t n);

// Filters lines [begin, end), of which each row has one in each column.
template <typename T>
void RunSplineFilter(const SplineFilter<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_SPLINE_FILTER1D_SPLINE_FILTER1D_H_
