// SPDX-License-Identifier: Apache-2.0
// What a CPU kernel writes, and what it reads for weights that are absent.
#ifndef XLA_FFI_OPS_KIT_OUTPUTS_H_
#define XLA_FFI_OPS_KIT_OUTPUTS_H_

#include <cstdint>

#include "xla_ffi_ops/kit/device.h"

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

// The rows of weight i of a formula's Weights, all of one number.
template <typename Weights, int i>
struct AbsentRows {
  struct Row {
    XLA_FFI_OPS_HD float operator[](int64_t) const {
      return Weights::Absent(i);
    }
  };

  XLA_FFI_OPS_HD Row operator[](int64_t) const { return {}; }
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_OUTPUTS_H_
