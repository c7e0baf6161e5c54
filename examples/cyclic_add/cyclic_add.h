// SPDX-License-Identifier: Apache-2.0
// out[i] = a[i % n] + b[i] for i in begin to end.
#ifndef CYCLIC_ADD_H_
#define CYCLIC_ADD_H_

#include <cstdint>

#include "xla_ffi_ops/vec/device.h"

namespace cyclic_add {

void Add(xla_ffi_ops::Cpu, int64_t begin, int64_t end, int64_t n,
         const float* a, const float* b, float* out);

// Only enqueues the work; throws if that fails.
void Add(xla_ffi_ops::Cuda device, int64_t begin, int64_t end, int64_t n,
         const float* a, const float* b, float* out);

}  // namespace cyclic_add

#endif  // CYCLIC_ADD_H_
