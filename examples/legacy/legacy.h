// SPDX-License-Identifier: Apache-2.0
// y[i] = factor * x[i].
#ifndef LEGACY_H_
#define LEGACY_H_

#include <cstdint>

#include "xla_ffi_ops/vec/device.h"

namespace legacy {

void Scale(xla_ffi_ops::Cpu, int64_t n, float factor, const float* x, float* y);

// Only enqueues the work. Throws if that fails.
void Scale(xla_ffi_ops::Cuda device, int64_t n, float factor, const float* x,
           float* y);

}  // namespace legacy

#endif  // LEGACY_H_
