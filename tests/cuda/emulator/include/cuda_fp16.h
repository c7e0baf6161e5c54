// SPDX-License-Identifier: Apache-2.0
// For the toolkit's header of this name: what the kernels use of it.
#ifndef XLA_FFI_OPS_TESTS_CUDA_EMULATOR_INCLUDE_CUDA_FP16_H_
#define XLA_FFI_OPS_TESTS_CUDA_EMULATOR_INCLUDE_CUDA_FP16_H_

#include "xla_ffi_ops/vec/float16.h"

struct __half {
  xla_ffi_ops::Float16 value;
};
struct __half2 {
  __half x, y;
};

inline float __half2float(__half half) { return half.value; }
inline __half __float2half_rn(float value) {
  return {xla_ffi_ops::Float16(value)};
}
inline __half __double2half(double value) {
  return {xla_ffi_ops::Float16(value)};
}
inline __half2 __floats2half2_rn(float x, float y) {
  return {__float2half_rn(x), __float2half_rn(y)};
}

#endif  // XLA_FFI_OPS_TESTS_CUDA_EMULATOR_INCLUDE_CUDA_FP16_H_
