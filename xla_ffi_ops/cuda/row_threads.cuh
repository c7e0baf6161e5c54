// SPDX-License-Identifier: Apache-2.0
// How the threads of a kernel share rows, for kernels that reduce rows.
//
// A row belongs to blockDim.x threads of gridDim.x blocks, which are a cluster
// if they are more than one. blockDim.x is a power of 2 if it is below a warp,
// and else a multiple of it; blockDim.x * blockDim.y is a multiple of a warp. A
// block works on blockDim.y rows at a time.
#ifndef XLA_FFI_OPS_CUDA_ROW_THREADS_CUH_
#define XLA_FFI_OPS_CUDA_ROW_THREADS_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "xla_ffi_ops/cuda/cluster.cuh"
#include "xla_ffi_ops/kit/rows.h"

namespace xla_ffi_ops {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

// Rows of a block that are wider than a warp wait at a barrier of their own. A
// block has 16, and 0 is that of __syncthreads.
inline constexpr int kMaxWideRows = 15;

// The whole block's dynamic shared memory.
template <typename T>
__device__ inline T* SharedMemory() {
  extern __shared__ __align__(16) unsigned char memory[];
  return reinterpret_cast<T*>(memory);
}

// RowMap::operator(), with a short cut for what most operands have.
__device__ inline int64_t MapRow(const RowMap& map, int64_t row) {
  if (map.dims == 1) return row * map.stride[0];
  int64_t index = 0;
#pragma unroll 1
  for (int d = map.dims - 1; d > 0; --d) {
    const int64_t rest = row / map.size[d];
    index += (row - rest * map.size[d]) * map.stride[d];
    row = rest;
  }
  return index + row * map.stride[0];
}

template <typename T>
__device__ inline T* RowAt(const Rows<T>& rows, int64_t row) {
  return rows.data + MapRow(rows.map, row) * rows.cols;
}
__device__ inline Ones RowAt(Ones, int64_t) { return {}; }

// This thread's place among those of its row, and their number.
__device__ inline int ThreadInRow() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ inline int ThreadsPerRow() { return gridDim.x * blockDim.x; }

// Sums over rows. All threads of a row call it equally often, and so do those
// of all rows of a warp. The order of the additions depends on the launch's
// shape alone.
//
// It has the first RowSumBytes of the block's shared memory. A kernel may use
// them too where its rows are not a cluster's, after a __syncthreads().
template <typename Sum>
class RowSum {
 public:
  __device__ RowSum() {
    if (gridDim.x == 1) return;
    if (threadIdx.x == 0) {
      Init(Barrier(0));
      Init(Barrier(1));
    }
    ClusterSync();
  }

  // Returns the sum of `value` over the threads of the row to each of them.
  __device__ Sum operator()(Sum value) {
    const int lanes = min(blockDim.x, kWarp);
    for (int mask = lanes / 2; mask > 0; mask /= 2) {
      value += __shfl_xor_sync(kAllLanes, value, mask);
    }
    const int warps = ThreadsPerRow() / kWarp;
    if (warps <= 1) return value;
    // Two sets of sums, by turns. One barrier is then enough: who writes a set
    // for the second time has passed the barrier of the other set, to which
    // all others came after they had read this one.
    const int turn = calls_ % 2;
    Sum* const sums = reinterpret_cast<Sum*>(Barrier(2)) +
                      (turn * blockDim.y + threadIdx.y) * warps;
    Sum* const own = sums + ThreadInRow() / kWarp;
    const int lane = threadIdx.x % kWarp;
    if (gridDim.x > 1) {
      ClusterBarrier* const barrier = Barrier(turn);
      if (threadIdx.x == 0) Expect(barrier, warps * sizeof(Sum));
      if (lane < gridDim.x) Send(lane, own, value, barrier);
      Wait(barrier, calls_ / 2 % 2);
    } else {
      if (lane == 0) *own = value;
      __barrier_sync_count(threadIdx.y + 1, blockDim.x);
    }
    ++calls_;
    Sum total = 0;
#pragma unroll 1
    for (int i = lane; i < warps; i += kWarp) total += sums[i];
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
      total += __shfl_xor_sync(kAllLanes, total, mask);
    }
    return total;
  }

 private:
  // The sums are behind two of them.
  static __device__ ClusterBarrier* Barrier(int turn) {
    return SharedMemory<ClusterBarrier>() + turn;
  }

  unsigned calls_ = 0;
};

template <typename Sum>
size_t RowSumBytes(dim3 block, int cluster) {
  return 2 * (sizeof(ClusterBarrier) +
              sizeof(Sum) * cluster * block.y * (block.x / kWarp));
}

__device__ inline float ReciprocalSqrt(float value) {
  return __frsqrt_rn(value);
}
__device__ inline double ReciprocalSqrt(double value) {
  return 1 / sqrt(value);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_CUDA_ROW_THREADS_CUH_
