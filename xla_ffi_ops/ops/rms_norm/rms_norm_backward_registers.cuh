// SPDX-License-Identifier: Apache-2.0
// The CUDA kernel of the backward pass for rows that registers hold.
#ifndef XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_BACKWARD_REGISTERS_CUH_
#define XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_BACKWARD_REGISTERS_CUH_

#include <cstdint>

#include "xla_ffi_ops/cuda/add_rows.cuh"
#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/cuda/row_threads.cuh"
#include "xla_ffi_ops/ops/rms_norm/rms_norm_backward.cuh"

namespace xla_ffi_ops {

// kLoads accesses of kSize elements of x and of dy.
template <typename T, typename Scale, int kSize, int kLoads>
__global__
__launch_bounds__(kBackwardThreads<Scale>, 1) void RmsNormBackwardKernel(
    const __grid_constant__ RmsNormBackwardArgs<T, Scale> args) {
  using Acc = Accumulator<T>;
  using Sum = RmsNormSum<T, Scale>;
  using Terms = BackwardTerms<T, Scale, kSize>;
  Pack<T, kSize> x[kLoads], dy[kLoads], next_x[kLoads], next_dy[kLoads];
  Acc next_rstd = 0;
  const int cols = static_cast<int>(args.cols);
  const int first = ThreadInRow() * kSize;
  const int stride = ThreadsPerRow() * kSize;
  const auto load_next = [&](int64_t group, int64_t group_row) {
    const bool valid = group_row < args.rows;
    const int64_t row = group * args.rows + (valid ? group_row : 0);
    const T* const x_row = RowAt(args.x, row);
    const T* const dy_row = RowAt(args.dy, row);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int column = first + i * stride;
      next_x[i].Clear();
      next_dy[i].Clear();
      if (valid && column < cols) {
        next_x[i].LoadOnce(x_row + column);
        next_dy[i].LoadOnce(dy_row + column);
      }
    }
    if (valid) next_rstd = *RowAt(args.rstd, row);
  };

  RowSum<Sum> row_sum;
  const int64_t step = int64_t{gridDim.y} * blockDim.y;
  for (int64_t group = blockIdx.z; group < args.groups; group += gridDim.z) {
    Sum dscale[kLoads * kSize] = {};
    int64_t base = int64_t{blockIdx.y} * blockDim.y;
    if (base < args.rows) load_next(group, base + threadIdx.y);
    for (; base < args.rows; base += step) {
      const Acc rstd = next_rstd;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        x[i] = next_x[i];
        dy[i] = next_dy[i];
      }
      const int64_t group_row = base + threadIdx.y;
      const bool valid = group_row < args.rows;
      const int64_t row = group * args.rows + (valid ? group_row : 0);
      const auto scale = RowAt(args.scale, row);
      if (base + step < args.rows) load_next(group, base + step + threadIdx.y);
      Sum dot = 0;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int column = first + i * stride;
        if (valid && column < cols) {
          dot += Terms(x[i], dy[i], rstd, scale, column).Dot();
        }
        x[i].Reconvert();
        dy[i].Reconvert();
      }
      const Sum mean = row_sum(dot) / static_cast<Sum>(args.cols);
      if (!valid) continue;
      T* const dx = args.dx + row * args.cols;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int column = first + i * stride;
        if (column >= cols) continue;
        const Terms terms(x[i], dy[i], rstd, scale, column);
        terms.StoreDx(mean, dx + column);
        if constexpr (kHasScale<Scale>) {
          for (int k = 0; k < kSize; ++k) {
            dscale[i * kSize + k] += dy[i][k] * terms.xhat[k];
          }
        }
      }
    }
    if constexpr (kHasScale<Scale>) {
      if (!AddRowsOfBlock(dscale)) continue;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int column = first + i * stride;
        if (column >= cols) continue;
        Sum sums[kSize];
        for (int k = 0; k < kSize; ++k) sums[k] = dscale[i * kSize + k];
        if (gridDim.y == 1) {
          StoreValues(sums, args.dscale + group * args.cols + column);
        } else {
          StoreValues(sums, args.PartAt(group, blockIdx.y) + column);
        }
      }
    }
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_BACKWARD_REGISTERS_CUH_
