// SPDX-License-Identifier: Apache-2.0
// The CUDA kernel of the forward pass for rows that no registers hold.
#ifndef XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_FORWARD_WIDE_CUH_
#define XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_FORWARD_WIDE_CUH_

#include <cstdint>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/cuda/row_threads.cuh"
#include "xla_ffi_ops/ops/rms_norm/rms_norm_forward.cuh"

namespace xla_ffi_ops {

// Rows of any width, one per block or cluster, read twice.
template <typename T, typename Scale, int kSize, int kLoads>
__global__ __launch_bounds__(kForwardThreads, 1) void RmsNormForwardWideKernel(
    const __grid_constant__ RmsNormForwardArgs<T, Scale> args) {
  using Acc = Accumulator<T>;
  Pack<T, kSize> x[kLoads];
  const int64_t first = int64_t{ThreadInRow()} * kSize;
  const int64_t stride = int64_t{ThreadsPerRow()} * kSize;
  RowSum<Acc> row_sum;
  for (int64_t row = args.begin + blockIdx.y; row < args.end;
       row += gridDim.y) {
    const T* const from = RowAt(args.x, row);
    Acc sum = 0;
    for (int64_t begin = first; begin < args.cols; begin += kLoads * stride) {
      Acc part = 0;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int64_t column = begin + i * stride;
        x[i].Clear();
        if (column < args.cols) x[i].Load(from + column);
      }
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
#pragma unroll
        for (int k = 0; k < kSize; ++k) part += x[i][k] * x[i][k];
      }
      sum += part;
    }
    const Acc mean = row_sum(sum) / static_cast<Acc>(args.cols);
    const Acc rstd = ReciprocalSqrt(mean + args.eps);
    if (first == 0) args.rstd[row] = rstd;
    const auto scale = RowAt(args.scale, row);
    T* const y = args.y + row * args.cols;
    for (int64_t begin = first; begin < args.cols; begin += kLoads * stride) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int64_t column = begin + i * stride;
        if (column < args.cols) x[i].LoadOnce(from + column);
      }
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int64_t column = begin + i * stride;
        if (column < args.cols) {
          StoreY<RmsNormSum<T, Scale>>(x[i], rstd, scale, column, y);
        }
      }
    }
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_FORWARD_WIDE_CUH_
