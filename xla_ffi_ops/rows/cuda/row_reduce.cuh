// SPDX-License-Identifier: Apache-2.0
// Reductions of rows by the threads that share them (row_threads.cuh).
#ifndef XLA_FFI_OPS_ROWS_CUDA_ROW_REDUCE_CUH_
#define XLA_FFI_OPS_ROWS_CUDA_ROW_REDUCE_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "xla_ffi_ops/cuda/cluster.cuh"
#include "xla_ffi_ops/cuda/shared_memory.cuh"
#include "xla_ffi_ops/rows/cuda/row_threads.cuh"

namespace xla_ffi_ops {

namespace internal {

// Combines the statistics (rows/formula.h) of a warp's lanes whose numbers
// differ in the bits below `lanes`.
template <typename Stat>
__device__ inline void CombineLanes(int lanes, Stat& stat) {
  constexpr int kValues = sizeof(stat) / sizeof(stat.value[0]);
  const auto combine = [&](int mask) {
    Stat other;
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      other.value[i] = __shfl_xor_sync(kAllLanes, stat.value[i], mask);
    }
    stat.Combine(other);
  };
  if (lanes == kWarp) {  // Nearly always: without a loop.
#pragma unroll
    for (int mask = kWarp / 2; mask > 0; mask /= 2) combine(mask);
  } else {
#pragma unroll 1
    for (int mask = lanes / 2; mask > 0; mask /= 2) combine(mask);
  }
}

// Sends a statistic, in as few messages as it has words.
template <typename Stat>
__device__ inline void SendStat(int block, Stat* to, const Stat& stat,
                                ClusterBarrier* barrier) {
  using Word = std::conditional_t<sizeof(Stat) % 8 == 0, uint64_t, uint32_t>;
  constexpr int kWords = sizeof(Stat) / sizeof(Word);
  static_assert(kWords <= 2 && kWords * sizeof(Word) == sizeof(Stat));
  Word words[kWords];
  memcpy(words, &stat, sizeof(stat));
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    Send(block, reinterpret_cast<Word*>(to) + i, words[i], barrier);
  }
}

}  // namespace internal

// All threads of a block call it equally often. The order in which statistics
// are combined depends on the launch's shape alone.
//
// It uses the first RowReduceBytes of the block's shared memory. If no row is
// shared by the blocks of a cluster, a kernel may use these bytes too, after a
// __syncthreads().
// None of its statistics is larger than kStatBytes.
template <int kStatBytes>
class RowReduce {
 public:
  __device__ RowReduce() {
    if (gridDim.x == 1) return;
    if (threadIdx.x == 0) {
      Init(Barrier(0));
      Init(Barrier(1));
    }
    ClusterSync();
  }

  // Returns what the statistics of the row's threads combine to, to each.
  template <typename Stat>
  __device__ Stat operator()(Stat stat) {
    static_assert(sizeof(Stat) <= kStatBytes);
    internal::CombineLanes(min(blockDim.x, kWarp), stat);
    const int warps = ThreadsPerRow() / kWarp;
    if (warps <= 1) return stat;
    // Two sets, by turns. One barrier is then enough: who writes a set for the
    // second time has passed the barrier of the other set, to which all others
    // came after they had read this one.
    const int turn = calls_ % 2;
    unsigned char* const set =
        reinterpret_cast<unsigned char*>(Barrier(2)) +
        (turn * blockDim.y + threadIdx.y) * warps * kStatBytes;
    Stat* const stats = reinterpret_cast<Stat*>(set);
    Stat* const own = stats + ThreadInRow() / kWarp;
    const int lane = threadIdx.x % kWarp;
    if (gridDim.x > 1) {
      ClusterBarrier* const barrier = Barrier(turn);
      if (threadIdx.x == 0) Expect(barrier, warps * sizeof(Stat));
      if (lane < gridDim.x) internal::SendStat(lane, own, stat, barrier);
      Wait(barrier, calls_ / 2 % 2);
    } else {
      if (lane == 0) *own = stat;
      __syncthreads();  // Also for the block's other rows, if it has any.
    }
    ++calls_;
    Stat total = Stat::Initial();
#pragma unroll 1
    for (int i = lane; i < warps; i += kWarp) total.Combine(stats[i]);
    internal::CombineLanes(kWarp, total);
    return total;
  }

 private:
  // The statistics are behind two of them.
  static __device__ ClusterBarrier* Barrier(int turn) {
    return SharedMemory<ClusterBarrier>() + turn;
  }

  unsigned calls_ = 0;
};

inline size_t RowReduceBytes(int stat_bytes, dim3 block, int cluster) {
  return 2 * (sizeof(ClusterBarrier) +
              size_t{block.y} * (block.x / kWarp) * cluster * stat_bytes);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CUDA_ROW_REDUCE_CUH_
