// SPDX-License-Identifier: Apache-2.0
// The second step of sums over rows: what the first left in memory for each
// part of the rows is added up, always in the same order.
#ifndef XLA_FFI_OPS_ROWS_CUDA_SUM_PARTS_CUH_
#define XLA_FFI_OPS_ROWS_CUDA_SUM_PARTS_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/cuda/launch.cuh"
#include "xla_ffi_ops/cuda/shared_memory.cuh"
#include "xla_ffi_ops/rows/cuda/row_args.cuh"
#include "xla_ffi_ops/rows/cuda/row_shape.cuh"
#include "xla_ffi_ops/rows/cuda/row_threads.cuh"
#include "xla_ffi_ops/vec/compensated.h"
#include "xla_ffi_ops/vec/convert.cuh"

namespace xla_ffi_ops {

template <typename W, typename Acc, int kSums>
struct SumPartsArgs {
  int64_t groups;
  int64_t parts;  // that have been written
  int64_t cols;
  Operands<Workspace<W, Acc>, kSums> sums;
};

// A block has a warp of columns of one of the sums.
template <typename W, typename Acc, int kSums>
__global__ __launch_bounds__(1024) void SumPartsKernel(
    const __grid_constant__ SumPartsArgs<W, Acc, kSums> args) {
  const Workspace<W, Acc>& workspace = args.sums[blockIdx.z];
  if (workspace.out == nullptr) return;
  Acc* const sums = SharedMemory<Acc>();  // [blockDim.y, kWarp]
  const int64_t column = int64_t{blockIdx.x} * kWarp + threadIdx.x;
  for (int64_t group = blockIdx.y; group < args.groups; group += gridDim.y) {
    Compensated<Acc> sum;
    if (column < args.cols) {
      const Acc* const from =
          workspace.memory + group * workspace.parts * args.cols + column;
#pragma unroll 4
      for (int64_t part = threadIdx.y; part < args.parts; part += blockDim.y) {
        sum.Add(from[part * args.cols]);
      }
    }
    sums[threadIdx.y * kWarp + threadIdx.x] = sum.value();
    __syncthreads();
    if (threadIdx.y == 0 && column < args.cols) {
      for (int i = 1; i < blockDim.y; ++i) {
        sum.Add(sums[i * kWarp + threadIdx.x]);
      }
      workspace.out[group * args.cols + column] = RoundTo<W>(sum.value());
    }
    __syncthreads();
  }
}

// Enqueues it.
template <typename W, typename Acc, int kSums>
void LaunchSumParts(cudaStream_t stream,
                    const SumPartsArgs<W, Acc, kSums>& args) {
  LaunchShape shape;
  shape.block =
      dim3(kWarp, RoundThreads(std::clamp<int64_t>(args.parts, 1, 32)));
  shape.grid = dim3(CeilDiv(args.cols, kWarp),
                    std::min<int64_t>(args.groups, kMaxGridY), kSums);
  shape.shared_bytes = shape.block.x * shape.block.y * sizeof(Acc);
  Launch("SumPartsKernel", SumPartsKernel<W, Acc, kSums>, shape, stream, args);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CUDA_SUM_PARTS_CUH_
