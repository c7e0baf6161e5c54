// SPDX-License-Identifier: Apache-2.0
// A sum over the rows that one block works on.
#ifndef XLA_FFI_OPS_ROWS_CUDA_ADD_ROWS_CUH_
#define XLA_FFI_OPS_ROWS_CUDA_ADD_ROWS_CUH_

#include <cuda_runtime.h>

#include <cstddef>

#include "xla_ffi_ops/cuda/shared_memory.cuh"
#include "xla_ffi_ops/rows/cuda/row_threads.cuh"

namespace xla_ffi_ops {

// Adds up all sums of the threads of a block that work on the same
// columns of different rows; they end in the threads for which it returns true.
// A warp has several rows if they are narrower than it. Uses AddRowsBytes of
// shared memory.
template <typename Sum, int kA, int kB, int kC>
__device__ inline bool AddRowsOfBlock(Sum (&all)[kA][kB][kC]) {
  constexpr int kSums = kA * kB * kC;
  const auto sum = [&](int i) -> Sum& {
    return all[i / (kB * kC)][i / kC % kB][i % kC];
  };
  const int lanes = min(blockDim.x, kWarp);
  for (int mask = lanes; mask < kWarp; mask *= 2) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      sum(i) += __shfl_xor_sync(kAllLanes, sum(i), mask);
    }
  }
  const int warp_rows = kWarp / lanes;
  const int row = threadIdx.y / warp_rows;
  const bool adds = threadIdx.y % warp_rows == 0;
  // [half of the rows, kSums, blockDim.x]
  Sum* const shared = SharedMemory<Sum>() + threadIdx.x;
  const int row_size = kSums * blockDim.x;
  __syncthreads();  // RowReduce has used the memory.
  for (int rows = blockDim.y / warp_rows; rows > 1;) {
    const int half = (rows + 1) / 2;
    if (adds && row >= half && row < rows) {
#pragma unroll
      for (int i = 0; i < kSums; ++i) {
        shared[(row - half) * row_size + i * blockDim.x] = sum(i);
      }
    }
    __syncthreads();
    if (adds && row < rows - half) {
#pragma unroll
      for (int i = 0; i < kSums; ++i) {
        sum(i) += shared[row * row_size + i * blockDim.x];
      }
    }
    __syncthreads();
    rows = half;
  }
  return adds && row == 0;
}

template <int kSums, typename Sum>
size_t AddRowsBytes(dim3 block) {
  const int rows = block.x < kWarp ? block.x * block.y / kWarp : block.y;
  return rows / 2 * kSums * block.x * sizeof(Sum);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CUDA_ADD_ROWS_CUH_
