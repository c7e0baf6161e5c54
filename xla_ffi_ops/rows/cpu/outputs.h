// SPDX-License-Identifier: Apache-2.0
// Arrays that a CPU kernel adds sums over rows to.
#ifndef XLA_FFI_OPS_ROWS_CPU_OUTPUTS_H_
#define XLA_FFI_OPS_ROWS_CPU_OUTPUTS_H_

#include <cstdint>

#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::internal {

// n arrays of the same rows.
template <typename T, int n>
struct Outputs {
  static constexpr int kSize = n;
  T* data[n > 0 ? n : 1];

  XLA_FFI_OPS_HD Outputs At(int64_t offset) const {
    Outputs at = *this;
    for (int i = 0; i < n; ++i) at.data[i] += offset;
    return at;
  }
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_ROWS_CPU_OUTPUTS_H_
