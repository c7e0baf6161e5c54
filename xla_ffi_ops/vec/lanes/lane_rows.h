// SPDX-License-Identifier: Apache-2.0
// Rows in memory, and the lanes of vectors: vector i has element i of each row.
#ifndef XLA_FFI_OPS_VEC_LANES_LANE_ROWS_H_
#define XLA_FFI_OPS_VEC_LANES_LANE_ROWS_H_

#include <cstdint>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/lanes/transpose_lanes.h"

namespace xla_ffi_ops::internal {

// Copies rows of n elements to lanes, [n, lanes], or lanes to rows. There, rows
// may be the same one, if their lanes are equal.
template <bool to_lanes, int count, typename T, typename Row>
XLA_FFI_OPS_HD void CopyLanes(Row* const* rows, int64_t n, T* lanes) {
  int64_t done = 0;
  if constexpr (count > 1) {
    for (; done + count <= n; done += count) {
      Row* in_rows[count];
      T* in_lanes[count];
#pragma GCC unroll 16
      for (int i = 0; i < count; ++i) {
        in_rows[i] = rows[i] + done;
        in_lanes[i] = lanes + (done + i) * count;
      }
      if constexpr (to_lanes) {
        CopySquare<T, count>(in_rows, in_lanes);
      } else {
        CopySquare<T, count>(in_lanes, in_rows);
      }
    }
  }
  for (int64_t i = done; i < n; ++i) {
    for (int r = 0; r < count; ++r) {
      if constexpr (to_lanes) {
        lanes[i * count + r] = rows[r][i];
      } else {
        rows[r][i] = lanes[i * count + r];
      }
    }
  }
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_VEC_LANES_LANE_ROWS_H_
