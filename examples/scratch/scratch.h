// SPDX-License-Identifier: Apache-2.0
// out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3; the ends are neighbours.
#ifndef SCRATCH_H_
#define SCRATCH_H_

#include <cstdint>

#include "xla_ffi_ops/vec/device.h"

namespace scratch {

void Smooth(xla_ffi_ops::Cpu, int64_t n, const float* in, float* out);

// Only enqueues the work; throws if that fails.
void Smooth(xla_ffi_ops::Cuda device, int64_t n, const float* in, float* out);

}  // namespace scratch

#endif  // SCRATCH_H_
