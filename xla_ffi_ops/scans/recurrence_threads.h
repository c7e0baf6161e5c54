// SPDX-License-Identifier: Apache-2.0
// Linear recurrences over threads, for handlers.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCE_THREADS_H_
#define XLA_FFI_OPS_SCANS_RECURRENCE_THREADS_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/scans/recurrence.h"

namespace xla_ffi_ops {
namespace internal {

// Threads share the rows of one column.
template <typename Call>
HandlerResult RunRows(const CpuContext& device, const Call& call,
                      int64_t rows) {
  using T = typename Call::Type;
  return ParallelGroups(
      device.pool, rows, RecurrenceRowsAtOnce<T>(), 3 * call.n * sizeof(T),
      [=](int64_t begin, int64_t end) { RunRecurrenceRows(call, begin, end); });
}

// Threads share the columns, in strips that are whole cache lines wide, and
// narrow enough for all threads to have some.
template <typename Call>
HandlerResult RunColumns(const CpuContext& device, const Call& call,
                         int64_t rows) {
  using T = typename Call::Type;
  constexpr int64_t kLine = std::max<int64_t>(1, 64 / sizeof(T));
  const int64_t threads = std::max<int64_t>(1, device.pool.num_threads());
  const int64_t share = (rows * call.columns + threads - 1) / threads;
  const int64_t width =
      std::min(call.columns, std::clamp<int64_t>(share / kLine, 1, 64) * kLine);
  const int64_t strips = (call.columns + width - 1) / width;
  return ParallelFor(
      device.pool, rows * strips, Grain(3 * width * call.n * sizeof(T)),
      [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t column = i % strips * width;
          RunRecurrenceColumns(call, i / strips, column,
                               std::min(call.columns, column + width));
        }
      });
}

}  // namespace internal

// Computes a Recurrence or Advantages.
template <typename Call>
HandlerResult RunRecurrence(const CpuContext& device, const Call& call,
                            int64_t rows) {
  if (call.n == 0 || rows == 0 || call.columns == 0) {
    return ffi::Error::Success();
  }
  return call.columns == 1 ? internal::RunRows(device, call, rows)
                           : internal::RunColumns(device, call, rows);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_RECURRENCE_THREADS_H_
