// SPDX-License-Identifier: Apache-2.0
// Rows in memory, and the lanes of vectors: vector i has element i of each row.
#ifndef XLA_FFI_OPS_SCANS_LANE_ROWS_H_
#define XLA_FFI_OPS_SCANS_LANE_ROWS_H_

#include <cstdint>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/scans/transpose_lanes.h"
#include "xla_ffi_ops/scans/vectors.h"

namespace xla_ffi_ops::internal {

// Transposes rows of n elements to [n, lanes].
template <typename T, int lanes>
XLA_FFI_OPS_HD void ToLanes(const T* const* rows, int64_t n, T* to) {
  int64_t i = 0;
  if constexpr (lanes > 1) {
    for (; i + lanes <= n; i += lanes) {
      Vec<T, lanes> square[lanes];
#pragma GCC unroll 16
      for (int r = 0; r < lanes; ++r) Load<T, lanes>(rows[r] + i, &square[r]);
      TransposeLanes<T, lanes>(square);
#pragma GCC unroll 16
      for (int r = 0; r < lanes; ++r) {
        Store<T, lanes>(square[r], to + (i + r) * lanes);
      }
    }
  }
  for (; i < n; ++i) {
    for (int r = 0; r < lanes; ++r) to[i * lanes + r] = rows[r][i];
  }
}

// Reverts it. Rows may be the same one, if their lanes are equal.
template <typename T, int lanes>
XLA_FFI_OPS_HD void FromLanes(const T* from, int64_t n, T* const* rows) {
  int64_t i = 0;
  if constexpr (lanes > 1) {
    for (; i + lanes <= n; i += lanes) {
      Vec<T, lanes> square[lanes];
#pragma GCC unroll 16
      for (int r = 0; r < lanes; ++r) {
        Load<T, lanes>(from + (i + r) * lanes, &square[r]);
      }
      TransposeLanes<T, lanes>(square);
#pragma GCC unroll 16
      for (int r = 0; r < lanes; ++r) Store<T, lanes>(square[r], rows[r] + i);
    }
  }
  for (; i < n; ++i) {
    for (int r = 0; r < lanes; ++r) rows[r][i] = from[i * lanes + r];
  }
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_LANE_ROWS_H_
