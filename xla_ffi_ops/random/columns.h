// SPDX-License-Identifier: Apache-2.0
// Elements of the rows of a call as lanes, and back.
#ifndef XLA_FFI_OPS_RANDOM_COLUMNS_H_
#define XLA_FFI_OPS_RANDOM_COLUMNS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "xla_ffi_ops/random/threefry.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/math_vector.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops::random {

using math::Splat;

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

// `count` elements, or as many as there are lanes; lanes behind them have the
// last one again.
template <typename V, typename T>
XLA_FFI_OPS_HD V LoadLanes(const T* from, int64_t count) {
  constexpr int64_t kLanes = math::kLanesOf<V>;
  V v = Splat<V>(from[std::min(count, kLanes) - 1]);
  std::memcpy(&v, from, std::min(count, kLanes) * sizeof(T));
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

// The lanes of `which` become elements of memory.
template <typename V>
XLA_FFI_OPS_HD void StoreSome(V v, math::Bits<V> which, math::Element<V>* to) {
  if (!math::Any(which == 0)) return StoreLanes(v, math::kLanesOf<V>, to);
  for (int i = 0; i < math::kLanesOf<V>; ++i) {
    if (which[i] != 0) to[i] = v[i];
  }
}

// Likewise as integers, by XLA's conversion: the nearest one towards 0 in the
// range, 0 for NaN.
template <typename V, typename T>
XLA_FFI_OPS_HD void StoreIntegers(V v, math::Bits<V> which, T* to) {
  using Integers = math::Like<T, V>;
  constexpr float kEnd = -static_cast<float>(std::numeric_limits<T>::min());
  const V inside = math::Select(math::Abs(v) < kEnd, v, V{});
  T lanes[math::kLanesOf<V>];
  const Integers found = __builtin_convertvector(inside, Integers);
  std::memcpy(lanes, &found, sizeof(lanes));
  for (int i = 0; i < math::kLanesOf<V>; ++i) {
    if (which[i] == 0) continue;
    to[i] = v[i] >= kEnd    ? std::numeric_limits<T>::max()
            : v[i] <= -kEnd ? std::numeric_limits<T>::min()
                            : lanes[i];
  }
}

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_COLUMNS_H_
