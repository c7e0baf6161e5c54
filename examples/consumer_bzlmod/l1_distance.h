// SPDX-License-Identifier: Apache-2.0
// The sum of |a[i] - b[i]| over each pair of rows, on the CPU and on CUDA.
#ifndef L1_DISTANCE_H_
#define L1_DISTANCE_H_

#include <cstdint>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace my_project {

using Rows = xla_ffi_ops::Rows<const float>;

// y[i] is the distance of a[i] and b[i], for i in begin to end.
void L1Distance(xla_ffi_ops::Cpu, int64_t begin, int64_t end, Rows a, Rows b,
                float* y);

// Only enqueues the work; throws if that fails.
void L1Distance(xla_ffi_ops::Cuda device, int64_t begin, int64_t end, Rows a,
                Rows b, float* y);

}  // namespace my_project

#endif  // L1_DISTANCE_H_
