// SPDX-License-Identifier: Apache-2.0
// How the threads of a kernel share rows, for kernels that reduce rows.
//
// A row belongs to blockDim.x threads of gridDim.x blocks, which are a cluster
// if they are more than one. blockDim.x is a power of 2 if it is below a warp,
// and else a multiple of it; blockDim.x * blockDim.y is a multiple of a warp. A
// block works on blockDim.y rows at a time.
#ifndef XLA_FFI_OPS_ROWS_CUDA_ROW_THREADS_CUH_
#define XLA_FFI_OPS_ROWS_CUDA_ROW_THREADS_CUH_

#include <cuda_runtime.h>

namespace xla_ffi_ops {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

// This thread's place among those of its row, and their number.
__device__ inline int ThreadInRow() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ inline int ThreadsPerRow() { return gridDim.x * blockDim.x; }

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CUDA_ROW_THREADS_CUH_
