// SPDX-License-Identifier: Apache-2.0
// Reads the steps of columns for totals, which store no results.
#ifndef XLA_FFI_OPS_SCANS_COLUMN_TOTALS_H_
#define XLA_FFI_OPS_SCANS_COLUMN_TOTALS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/scans/elements.h"

namespace xla_ffi_ops::internal {

// Columns at a time: their states fit the fastest cache.
inline constexpr int64_t kTotals = 512;

// Calls add(steps, elements, stride) for all n steps of `count` columns at x:
// for 4 steps at a time, so that states are rarely read and written, and for
// the rest one by one. The next step is `stride` elements further.
template <typename Elements, typename Add>
void ForSteps(const typename Elements::Stored* x, int64_t n, int64_t stride,
              int64_t count, Add add) {
  constexpr int kSteps = 4;
  typename Elements::Element space[Elements::kConverts ? kSteps * kTotals : 1];
  const auto call = [&](auto steps, int64_t i) {
    const auto* const from = x + i * stride;
    for (int s = 0; s < steps; ++s) {
      Fetch<false>(from + (kSteps + s) * stride, count);
    }
    if constexpr (Elements::kConverts) {
      const bool all = stride == count;
      const int64_t size = all ? steps * count : count;
      for (int s = 0; s < (all ? 1 : steps); ++s) {
        Elements::To(from + s * stride, space + s * count, size);
      }
      add(steps, space, count);
    } else {
      add(steps, from, stride);
    }
  };
  int64_t i = 0;
  for (; i + kSteps <= n; i += kSteps) {
    call(std::integral_constant<int, kSteps>(), i);
  }
  for (; i < n; ++i) call(std::integral_constant<int, 1>(), i);
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_COLUMN_TOTALS_H_
