// SPDX-License-Identifier: Apache-2.0
// Linear recurrences over threads, for handlers.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_THREADS_H_
#define XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_THREADS_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/scans/recurrences/recurrence.h"
#include "xla_ffi_ops/threads/handler_result.h"
#include "xla_ffi_ops/threads/parallel.h"

namespace xla_ffi_ops {
namespace internal {

// Calls body(row, begin, end) for columns, in strips that are whole cache lines
// wide, and narrow enough for all threads to have some. A column moves `bytes`.
template <typename T, typename Body>
HandlerResult OverColumns(const CpuContext& device, int64_t rows,
                          int64_t columns, int64_t bytes, Body body) {
  constexpr int64_t kLine = std::max<int64_t>(1, 64 / sizeof(T));
  const int64_t threads = std::max<int64_t>(1, device.pool.num_threads());
  const int64_t share = (rows * columns + threads - 1) / threads;
  const int64_t width =
      std::min(columns, std::clamp<int64_t>(share / kLine, 1, 64) * kLine);
  const int64_t strips = (columns + width - 1) / width;
  return ParallelFor(device.pool, rows * strips, Grain(width * bytes),
                     [=](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const int64_t column = i % strips * width;
                         body(i / strips, column,
                              std::min(columns, column + width));
                       }
                     });
}

}  // namespace internal

// Computes a Recurrence or Advantages.
template <typename Call>
HandlerResult RunRecurrence(const CpuContext& device, const Call& call,
                            int64_t rows) {
  using T = typename Call::Type;
  if (call.n == 0 || rows == 0 || call.columns == 0) {
    return ffi::Error::Success();
  }
  const int64_t bytes = 3 * call.n * sizeof(T);
  if (call.columns == 1) {
    return ParallelGroups(device.pool, rows, RecurrenceRowsAtOnce<T>(), bytes,
                          [=](int64_t begin, int64_t end) {
                            RunRecurrenceRows(call, begin, end);
                          });
  }
  return internal::OverColumns<T>(device, rows, call.columns, bytes,
                                  [=](int64_t row, int64_t begin, int64_t end) {
                                    RunRecurrenceColumns(call, row, begin, end);
                                  });
}

// Likewise its ends.
template <typename T>
HandlerResult RunEnds(const CpuContext& device, RecurrenceEnds<T> ends,
                      int64_t rows) {
  const int64_t columns = ends.call.columns;
  const int64_t bytes = 2 * (ends.call.n + 1) * sizeof(T);
  const int64_t strands = RecurrenceRowsAtOnce<T>();
  // The same for any number of threads.
  ends.in_parts = rows < strands && ends.call.n >= 64 * strands;
  if (rows == 0 || columns == 0) return ffi::Error::Success();
  if (columns == 1) {
    return ParallelGroups(
        device.pool, rows, strands, bytes,
        [=](int64_t begin, int64_t end) { RunRowEnds(ends, begin, end); });
  }
  return internal::OverColumns<T>(device, rows, columns, bytes,
                                  [=](int64_t row, int64_t begin, int64_t end) {
                                    RunColumnEnds(ends, row, begin, end);
                                  });
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_THREADS_H_
