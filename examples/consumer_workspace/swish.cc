// SPDX-License-Identifier: Apache-2.0
// The CPU kernel.
#include "swish.h"

namespace my_project {

void Swish(xla_ffi_ops::Cpu, int64_t begin, int64_t end, const float* x,
           float* y) {
  for (int64_t i = begin; i < end; ++i) y[i] = Swish(x[i]);
}

}  // namespace my_project
