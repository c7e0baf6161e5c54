// SPDX-License-Identifier: Apache-2.0
// Splits columns over threads.
#ifndef XLA_FFI_OPS_SCANS_STRIPS_H_
#define XLA_FFI_OPS_SCANS_STRIPS_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/threads/handler_result.h"
#include "xla_ffi_ops/threads/parallel.h"

namespace xla_ffi_ops::internal {

// Calls body(array, begin, end) for strips of the `columns` columns of each of
// `arrays` arrays. Strips are whole cache lines wide, and narrow enough for all
// threads to have some. A column moves `bytes`.
template <typename Body>
HandlerResult ForStrips(const CpuContext& device, int64_t arrays,
                        int64_t columns, int64_t element_bytes, int64_t bytes,
                        Body body) {
  constexpr int64_t kMostLines = 64;
  const int64_t line = 64 / element_bytes;
  const int64_t threads = device.threads();
  const int64_t share = (arrays * columns + threads - 1) / threads;
  const int64_t width = std::min(
      columns, std::clamp<int64_t>(share / line, 1, kMostLines) * line);
  const int64_t strips = (columns + width - 1) / width;
  return ParallelFor(device.pool, arrays * strips, Grain(width * bytes),
                     [=](int64_t first, int64_t last) {
                       for (int64_t i = first; i < last; ++i) {
                         const int64_t begin = i % strips * width;
                         body(i / strips, begin,
                              std::min(columns, begin + width));
                       }
                     });
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_STRIPS_H_
