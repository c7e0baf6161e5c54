// SPDX-License-Identifier: Apache-2.0
// y[i] = factor * x[i].
#ifndef EXAMPLES_SCALE_SCALE_H_
#define EXAMPLES_SCALE_SCALE_H_

#include <cstdint>

#include "xla_ffi_ops/vec/device.h"

namespace scale {

// Makes the device ready for Scale: whatever may not be recorded in a graph.
inline void Load(xla_ffi_ops::Cpu) {}
void Load(xla_ffi_ops::Cuda device);

void Scale(xla_ffi_ops::Cpu, int64_t n, float factor, const float* x, float* y);

// Only enqueues the work. Both throw if that fails.
void Scale(xla_ffi_ops::Cuda device, int64_t n, float factor, const float* x,
           float* y);

}  // namespace scale

#endif  // EXAMPLES_SCALE_SCALE_H_
