// SPDX-License-Identifier: Apache-2.0
// The CPU kernel.
#include "l1_distance.h"

#include <cmath>

namespace my_project {

void L1Distance(xla_ffi_ops::Cpu, int64_t begin, int64_t end, Rows a, Rows b,
                float* y) {
  for (int64_t row = begin; row < end; ++row) {
    const float *a_row = a[row], *b_row = b[row];
    double sum = 0;
    for (int64_t i = 0; i < a.cols; ++i) {
      sum += std::fabs(double{a_row[i]} - double{b_row[i]});
    }
    y[row] = static_cast<float>(sum);
  }
}

}  // namespace my_project
