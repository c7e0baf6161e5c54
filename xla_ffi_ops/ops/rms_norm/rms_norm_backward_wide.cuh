// SPDX-License-Identifier: Apache-2.0
// The CUDA kernel of the backward pass for rows that no registers hold.
#ifndef XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_BACKWARD_WIDE_CUH_
#define XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_BACKWARD_WIDE_CUH_

#include <cstdint>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/cuda/row_threads.cuh"
#include "xla_ffi_ops/ops/rms_norm/rms_norm_backward.cuh"

namespace xla_ffi_ops {

// Rows of any width, one per block or cluster, read twice. The sums of a part
// are kept in the workspace, where only the thread that owns a column adds to
// it.
template <typename T, typename Scale, int kSize, int kLoads>
__global__
__launch_bounds__(kBackwardThreads<Scale>, 1) void RmsNormBackwardWideKernel(
    const __grid_constant__ RmsNormBackwardArgs<T, Scale> args) {
  using Acc = Accumulator<T>;
  using Sum = RmsNormSum<T, Scale>;
  using Terms = BackwardTerms<T, Scale, kSize>;
  Pack<T, kSize> x[kLoads], dy[kLoads];
  const int64_t first = int64_t{ThreadInRow()} * kSize;
  const int64_t stride = int64_t{ThreadsPerRow()} * kSize;
  RowSum<Sum> row_sum;
  for (int64_t group = blockIdx.z; group < args.groups; group += gridDim.z) {
    for (int64_t r = blockIdx.y; r < args.rows; r += gridDim.y) {
      const int64_t row = group * args.rows + r;
      const T* const x_row = RowAt(args.x, row);
      const T* const dy_row = RowAt(args.dy, row);
      const auto scale = RowAt(args.scale, row);
      const Acc rstd = *RowAt(args.rstd, row);
      T* const dx = args.dx + row * args.cols;
      // Calls fn(column, terms, dy) for each access.
      const auto for_each = [&](auto fn) {
        for (int64_t begin = first; begin < args.cols;
             begin += kLoads * stride) {
#pragma unroll
          for (int i = 0; i < kLoads; ++i) {
            const int64_t column = begin + i * stride;
            if (column < args.cols) {
              x[i].Load(x_row + column);
              dy[i].Load(dy_row + column);
            }
          }
#pragma unroll
          for (int i = 0; i < kLoads; ++i) {
            const int64_t column = begin + i * stride;
            if (column < args.cols) {
              fn(column, Terms(x[i], dy[i], rstd, scale, column), dy[i]);
            }
          }
        }
      };
      Sum dot = 0;
      for_each([&](int64_t, const Terms& terms, const Pack<T, kSize>&) {
        dot += terms.Dot();
      });
      const Sum mean = row_sum(dot) / static_cast<Sum>(args.cols);
      for_each([&](int64_t column, const Terms& terms,
                   const Pack<T, kSize>& dy_pack) {
        terms.StoreDx(mean, dx + column);
        if constexpr (kHasScale<Scale>) {
          Sum* const part = args.PartAt(group, blockIdx.y) + column;
          Sum sums[kSize] = {};
          if (r != blockIdx.y) LoadValues(part, sums);
          for (int k = 0; k < kSize; ++k) sums[k] += dy_pack[k] * terms.xhat[k];
          StoreValues(sums, part);
        }
      });
    }
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_BACKWARD_WIDE_CUH_
