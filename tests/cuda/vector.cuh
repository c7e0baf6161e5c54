// SPDX-License-Identifier: Apache-2.0
// Four floats at once.
#ifndef XLA_FFI_OPS_TESTS_CUDA_VECTOR_CUH_
#define XLA_FFI_OPS_TESTS_CUDA_VECTOR_CUH_

__device__ inline float4 operator*(float a, float4 v) {
  return {a * v.x, a * v.y, a * v.z, a * v.w};
}

#endif  // XLA_FFI_OPS_TESTS_CUDA_VECTOR_CUH_
