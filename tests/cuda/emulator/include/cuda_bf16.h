// SPDX-License-Identifier: Apache-2.0
// For the toolkit's header of this name: what the kernels use of it.
#ifndef XLA_FFI_OPS_TESTS_CUDA_EMULATOR_INCLUDE_CUDA_BF16_H_
#define XLA_FFI_OPS_TESTS_CUDA_EMULATOR_INCLUDE_CUDA_BF16_H_

#include "xla_ffi_ops/vec/float16.h"

struct __nv_bfloat16 {
  xla_ffi_ops::BFloat16 value;
};
struct __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline float __bfloat162float(__nv_bfloat16 bfloat) { return bfloat.value; }
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  return {xla_ffi_ops::BFloat16(value)};
}
inline __nv_bfloat16 __double2bfloat16(double value) {
  return {xla_ffi_ops::BFloat16(value)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}

#endif  // XLA_FFI_OPS_TESTS_CUDA_EMULATOR_INCLUDE_CUDA_BF16_H_
