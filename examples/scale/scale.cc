// SPDX-License-Identifier: Apache-2.0
#include "examples/scale/scale.h"

#include <cstdint>

namespace scale {

void Scale(xla_ffi_ops::Cpu, int64_t n, float factor, const float* x,
           float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = factor * x[i];
}

}  // namespace scale
