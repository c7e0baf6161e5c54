// SPDX-License-Identifier: Apache-2.0
// Rows in memory, and the lanes of vectors: vector i has element i of each row.
#ifndef XLA_FFI_OPS_VEC_LANES_LANE_ROWS_H_
#define XLA_FFI_OPS_VEC_LANES_LANE_ROWS_H_

#include <cstdint>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/lanes/transpose_lanes.h"

namespace xla_ffi_ops::internal {

// Copies elements [done, n) of rows, in squares of so many rows and elements;
// what is left, in smaller ones.
template <bool to_lanes, int side, int count, typename T, typename Row>
XLA_FFI_OPS_HD void CopySquares(Row* const* rows, int64_t done, int64_t n,
                                T* lanes) {
  if constexpr (side == 1 || side * sizeof(T) < 16) {
    for (int64_t i = done; i < n; ++i) {
      for (int r = 0; r < count; ++r) {
        if constexpr (to_lanes) {
          lanes[i * count + r] = rows[r][i];
        } else {
          rows[r][i] = lanes[i * count + r];
        }
      }
    }
  } else {
    for (; done + side <= n; done += side) {
      for (int first = 0; first < count; first += side) {
        Row* in_rows[side];
        T* in_lanes[side];
#pragma GCC unroll 16
        for (int i = 0; i < side; ++i) {
          in_rows[i] = rows[first + i] + done;
          in_lanes[i] = lanes + (done + i) * count + first;
        }
        if constexpr (to_lanes) {
          CopySquare<T, side>(in_rows, in_lanes);
        } else {
          CopySquare<T, side>(in_lanes, in_rows);
        }
      }
    }
    CopySquares<to_lanes, side / 2, count>(rows, done, n, lanes);
  }
}

// Copies rows of n elements to lanes, [n, lanes], or lanes to rows. There, rows
// may be the same one, if their lanes are equal.
template <bool to_lanes, int count, typename T, typename Row>
XLA_FFI_OPS_HD void CopyLanes(Row* const* rows, int64_t n, T* lanes) {
  CopySquares<to_lanes, count, count>(rows, 0, n, lanes);
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_VEC_LANES_LANE_ROWS_H_
