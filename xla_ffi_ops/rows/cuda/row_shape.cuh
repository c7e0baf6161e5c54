// SPDX-License-Identifier: Apache-2.0
// Launch shapes for kernels whose threads share rows (row_threads.cuh).
#ifndef XLA_FFI_OPS_ROWS_CUDA_ROW_SHAPE_CUH_
#define XLA_FFI_OPS_ROWS_CUDA_ROW_SHAPE_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/cuda/launch.cuh"
#include "xla_ffi_ops/rows/cuda/row_threads.cuh"

namespace xla_ffi_ops {

// What every device with clusters can run, and what some can.
inline constexpr int kPortableCluster = 8;
inline constexpr int kMaxCluster = 16;

// Of any device.
inline constexpr int64_t kMaxGridY = 65535;

// The number of threads of a block that a row is given to use `threads` of.
inline int RoundThreads(int64_t threads) {
  if (threads > kWarp) return CeilDiv(threads, kWarp) * kWarp;
  int power = 1;
  while (power < threads) power *= 2;
  return power;
}

// A row of `accesses` accesses, of which a thread keeps `loads` in registers.
struct RowShape {
  int64_t accesses;
  int loads;
  int max_threads;  // of a block
  int cluster = 1;

  int threads() const {
    return RoundThreads(CeilDiv(accesses, int64_t{loads} * cluster));
  }
  bool fits() const { return threads() <= max_threads; }

  // Takes the smallest cluster whose registers have room for the row.
  void Fit(int max_cluster) {
    while (!fits() && cluster < max_cluster) cluster *= 2;
  }

  // Takes larger clusters while multiprocessors would be idle else.
  void Spread(int64_t rows, int multiprocessors) {
    while (cluster < kPortableCluster && threads() > 4 * kWarp &&
           2 * cluster * rows <= multiprocessors) {
      cluster *= 2;
    }
  }

  // Threads of a block that works on several of `rows` rows at a time, as far
  // as there are so many and `block_threads` are enough. The rows of a block
  // that are wider than a warp wait for one another.
  dim3 Block(int64_t rows, int block_threads) const {
    const int row_threads = threads();
    int64_t block_rows = std::max(1, block_threads / row_threads);
    if (row_threads <= kWarp) {
      while (block_rows * row_threads > kWarp && block_rows / 2 >= rows) {
        block_rows /= 2;
      }
    } else {
      block_rows = cluster > 1 ? 1 : std::min(block_rows, rows);
    }
    return dim3(row_threads, block_rows);
  }
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CUDA_ROW_SHAPE_CUH_
