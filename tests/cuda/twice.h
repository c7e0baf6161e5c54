// SPDX-License-Identifier: Apache-2.0
// y = 2 x, for elements begin to end.
#ifndef XLA_FFI_OPS_TESTS_CUDA_TWICE_H_
#define XLA_FFI_OPS_TESTS_CUDA_TWICE_H_

#include <cstdint>

#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {

// Returns why it failed, or null.
const char* Twice(Cpu, int64_t begin, int64_t end, const float* x, float* y);
const char* Twice(Cuda, int64_t begin, int64_t end, const float* x, float* y);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_TESTS_CUDA_TWICE_H_
