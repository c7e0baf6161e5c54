// SPDX-License-Identifier: Apache-2.0
// swish(x) = x / (1 + exp(-x)), for the CPU and for CUDA.
#ifndef SWISH_H_
#define SWISH_H_

#include <cmath>
#include <cstdint>

#include "xla_ffi_ops/vec/device.h"

namespace my_project {

XLA_FFI_OPS_HD float Swish(float x) { return x / (1 + std::exp(-x)); }

// y[i] = Swish(x[i]) for i in begin to end.
void Swish(xla_ffi_ops::Cpu, int64_t begin, int64_t end, const float* x,
           float* y);

// Only enqueues the work; throws if that fails.
void Swish(xla_ffi_ops::Cuda device, int64_t begin, int64_t end, const float* x,
           float* y);

}  // namespace my_project

#endif  // SWISH_H_
