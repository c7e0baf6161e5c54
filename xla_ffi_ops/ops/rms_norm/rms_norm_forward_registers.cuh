// SPDX-License-Identifier: Apache-2.0
// The CUDA kernel of the forward pass for rows that registers hold.
#ifndef XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_FORWARD_REGISTERS_CUH_
#define XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_FORWARD_REGISTERS_CUH_

#include <cstdint>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/cuda/row_threads.cuh"
#include "xla_ffi_ops/ops/rms_norm/rms_norm_forward.cuh"

namespace xla_ffi_ops {

// kLoads accesses of kSize elements in each of kRows rows. More than one row is
// for rows that are no wider than a warp.
template <typename T, typename Scale, int kSize, int kLoads, int kRows>
__global__ __launch_bounds__(kForwardThreads, 1) void RmsNormForwardKernel(
    const __grid_constant__ RmsNormForwardArgs<T, Scale> args) {
  using Acc = Accumulator<T>;
  Pack<T, kSize> x[kRows][kLoads];
  Pack<T, kSize> next[kRows][kLoads];
  const int cols = static_cast<int>(args.cols);
  const int first = ThreadInRow() * kSize;
  const int stride = ThreadsPerRow() * kSize;
  // The row of this thread among the block's from `base` on.
  const auto row_at = [&](int64_t base, int r) {
    return base + r * static_cast<int>(blockDim.y) + threadIdx.y;
  };
  const auto load_next = [&](int64_t base) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int64_t row = row_at(base, r);
      const T* const from = RowAt(args.x, row < args.end ? row : args.begin);
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int column = first + i * stride;
        next[r][i].Clear();
        if (row < args.end && column < cols) {
          next[r][i].LoadOnce(from + column);
        }
      }
    }
  };

  const int64_t block_rows = int64_t{blockDim.y} * kRows;
  const int64_t step = gridDim.y * block_rows;
  int64_t base = args.begin + blockIdx.y * block_rows;
  load_next(base);
  RowSum<Acc> row_sum;
  for (; base < args.end; base += step) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) x[r][i] = next[r][i];
    }
    // Before more registers are in use: this may divide 64-bit integers.
    decltype(RowAt(args.scale, 0)) scale[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int64_t row = row_at(base, r);
      scale[r] = RowAt(args.scale, row < args.end ? row : args.begin);
    }
    if (base + step < args.end) load_next(base + step);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      Acc sum = 0;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
#pragma unroll
        for (int k = 0; k < kSize; ++k) sum += x[r][i][k] * x[r][i][k];
        x[r][i].Reconvert();
      }
      const Acc mean = row_sum(sum) / static_cast<Acc>(args.cols);
      const Acc rstd = ReciprocalSqrt(mean + args.eps);
      const int64_t row = row_at(base, r);
      if (row >= args.end) continue;
      if (first == 0) args.rstd[row] = rstd;
      T* const y = args.y + row * args.cols;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int column = first + i * stride;
        if (column < cols) {
          StoreY<RmsNormSum<T, Scale>>(x[r][i], rstd, scale[r], column, y);
        }
      }
    }
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_FORWARD_REGISTERS_CUH_
