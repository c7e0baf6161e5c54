// SPDX-License-Identifier: Apache-2.0
// Linear recurrences over threads, for handlers.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_THREADS_H_
#define XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_THREADS_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/scans/recurrences/recurrence.h"
#include "xla_ffi_ops/scans/strips.h"
#include "xla_ffi_ops/threads/handler_result.h"
#include "xla_ffi_ops/threads/parallel.h"

namespace xla_ffi_ops {

// Computes a Recurrence or Advantages.
template <typename Call>
HandlerResult SplitRecurrence(const CpuContext& device, const Call& call,
                              int64_t rows) {
  using T = typename Call::Type;
  if (call.n == 0 || rows == 0 || call.columns == 0) {
    return ::xla::ffi::Error::Success();
  }
  const int64_t bytes = 3 * call.n * sizeof(T);
  if (call.columns == 1) {
    return ParallelGroups(device.pool, rows, RecurrenceRowsAtOnce<T>(), bytes,
                          [=](int64_t begin, int64_t end) {
                            RunRecurrenceRows(call, begin, end);
                          });
  }
  return internal::ForStrips(device, rows, call.columns, sizeof(T), bytes,
                             [=](int64_t row, int64_t begin, int64_t end) {
                               RunRecurrenceColumns(call, row, begin, end);
                             });
}

template <typename Call>
HandlerResult SplitRecurrence(Cuda device, const Call& call, int64_t rows) {
  LaunchRecurrence(device, call, rows);
  return ::xla::ffi::Error::Success();
}

// Likewise its ends.
template <typename T>
HandlerResult SplitEnds(const CpuContext& device, RecurrenceEnds<T> ends,
                        int64_t rows) {
  const int64_t columns = ends.call.columns;
  const int64_t bytes = 2 * (ends.call.n + 1) * sizeof(T);
  const int64_t strands = RecurrenceRowsAtOnce<T>();
  // The same for any number of threads.
  ends.in_parts = rows < strands && ends.call.n >= 64 * strands;
  if (rows == 0 || columns == 0) return ::xla::ffi::Error::Success();
  if (columns == 1) {
    return ParallelGroups(
        device.pool, rows, strands, bytes,
        [=](int64_t begin, int64_t end) { RunRowEnds(ends, begin, end); });
  }
  return internal::ForStrips(device, rows, columns, sizeof(T), bytes,
                             [=](int64_t row, int64_t begin, int64_t end) {
                               RunColumnEnds(ends, row, begin, end);
                             });
}

template <typename T>
HandlerResult SplitEnds(Cuda device, const RecurrenceEnds<T>& ends,
                        int64_t rows) {
  LaunchRecurrenceEnds(device, ends, rows);
  return ::xla::ffi::Error::Success();
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_THREADS_H_
