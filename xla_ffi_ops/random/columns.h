// SPDX-License-Identifier: Apache-2.0
// Elements of the rows of a call as lanes, and back.
#ifndef XLA_FFI_OPS_RANDOM_COLUMNS_H_
#define XLA_FFI_OPS_RANDOM_COLUMNS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "xla_ffi_ops/random/threefry.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/math_vector.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops::random {

// Element `column` of the rows [begin, begin + count), a row in each lane;
// lanes behind them have the last row again.
template <typename V, typename T>
XLA_FFI_OPS_HD V LoadColumn(const Rows<const T>& rows, int64_t column,
                            int64_t begin, int64_t count) {
  constexpr int64_t kLanes = math::kLanesOf<V>;
  T lanes[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) {
    lanes[i] = rows[begin + std::min(i, count - 1)][column];
  }
  V v;
  std::memcpy(&v, lanes, sizeof(v));
  return v;
}

// The keys of these rows.
template <typename U>
XLA_FFI_OPS_HD Words<U> LoadKeys(const Rows<const uint32_t>& rows,
                                 int64_t begin, int64_t count) {
  return {LoadColumn<U>(rows, 0, begin, count),
          LoadColumn<U>(rows, 1, begin, count)};
}

// The first `count` lanes become elements of memory.
template <typename V, typename T>
XLA_FFI_OPS_HD void StoreLanes(V v, int64_t count, T* to) {
  if (count >= math::kLanesOf<V>) {
    std::memcpy(to, &v, sizeof(v));
  } else {
    std::memcpy(to, &v, count * sizeof(T));
  }
}

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_COLUMNS_H_
