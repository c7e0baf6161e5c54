// SPDX-License-Identifier: Apache-2.0
// The dtypes that kernels are compiled for.
#ifndef XLA_FFI_OPS_CUDA_DTYPE_PAIRS_CUH_
#define XLA_FFI_OPS_CUDA_DTYPE_PAIRS_CUH_

#include "xla_ffi_ops/kit/float16.h"

// Calls M(T, W) for each pair of the dtypes of rows and of their weights.
#define XLA_FFI_OPS_DTYPE_PAIRS(M) \
  M(Float16, Float16)              \
  M(Float16, float)                \
  M(BFloat16, BFloat16)            \
  M(BFloat16, float)               \
  M(float, float)                  \
  M(double, double)

#endif
