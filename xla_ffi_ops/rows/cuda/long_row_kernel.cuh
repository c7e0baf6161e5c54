// SPDX-License-Identifier: Apache-2.0
// The kernel that runs a formula on long rows, which no registers hold.
#ifndef XLA_FFI_OPS_ROWS_CUDA_LONG_ROW_KERNEL_CUH_
#define XLA_FFI_OPS_ROWS_CUDA_LONG_ROW_KERNEL_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/rows/cuda/formula_steps.cuh"
#include "xla_ffi_ops/rows/cuda/row_args.cuh"
#include "xla_ffi_ops/rows/cuda/row_operands.cuh"
#include "xla_ffi_ops/rows/cuda/row_reduce.cuh"
#include "xla_ffi_ops/rows/cuda/row_sample.cuh"
#include "xla_ffi_ops/rows/cuda/row_threads.cuh"

namespace xla_ffi_ops {

// Rows of any length, one per block or cluster, read once in each pass and once
// more for the outputs. The sums of a part are kept in memory, where only the
// thread that owns a column adds to it.
template <typename Args, int kSize, int kLoads>
__global__ __launch_bounds__(Args::kThreads, 1) void LongRowKernel(
    const __grid_constant__ Args args) {
  using T = typename Args::T;
  using Acc = typename Args::Acc;
  const int64_t first = int64_t{ThreadInRow()} * kSize;
  const int64_t stride = int64_t{ThreadsPerRow()} * kSize;
  RowReduce<kStatBytes<Args>> reduce;
  for (int64_t group = blockIdx.z; group < args.groups; group += gridDim.z) {
    for (int64_t r = blockIdx.y; r < args.rows; r += gridDim.y) {
      const int64_t row = args.begin + group * args.rows + r;
      const int64_t step = r / gridDim.y;  // of this block
      const int64_t part =
          blockIdx.y + step / args.part_steps * int64_t{gridDim.y};
      const T* from[Args::kInputs];
#pragma unroll
      for (int n = 0; n < Args::kInputs; ++n) from[n] = args.inputs[n][row];
      const WeightRow<Args> weights(args, row);
      const auto for_each = [&](auto fn) {
        for (int64_t begin = first; begin < args.cols;
             begin += kLoads * stride) {
          Pack<T, kSize> packs[kLoads][Args::kInputs];
#pragma unroll
          for (int i = 0; i < kLoads; ++i) {
            const int64_t column = begin + i * stride;
#pragma unroll
            for (int n = 0; n < Args::kInputs; ++n) {
              packs[i][n].Clear();
              if (column < args.cols) packs[i][n].Load(from[n] + column);
            }
          }
#pragma unroll
          for (int i = 0; i < kLoads; ++i) {
            const int64_t column = begin + i * stride;
            if (column < args.cols) {
              fn(column, i,
                 Elements<Args, kSize>(args, packs[i], weights, column));
            }
          }
        }
      };
      auto known = args.formula.Load(row);
      const auto keep = [](int, int, const auto&) {};
      if constexpr (kAccepts<typename Args::Formula>) {
        RowSample<Args> sample;
        sample.Load(args, row);
        MakePassesAfter</*kLong=*/true>(sample, args, known, weights, reduce,
                                        for_each, keep);
      } else {
        MakePasses</*kLong=*/true>(args, known, reduce, for_each, keep);
      }
      if (first == 0) args.formula.Save(row, known);
      for_each([&](int64_t column, int, const auto& elements) {
        StoreOutputs<kSize>(args, row, column, [&](int k) {
          return StoreOf(args, known, elements, k);
        });
        if constexpr (Args::kSums > 0) {
          Acc sums[Args::kSums][kSize] = {};
          if (step % args.part_steps != 0) {
            args.LoadSums(group, part, column, sums);
          }
          AddColumns(args, known, elements, sums);
          const bool is_last = r + gridDim.y >= args.rows;
          args.StoreSums(group, part, column, sums,
                         is_last && !args.HasParts());
        }
      });
    }
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CUDA_LONG_ROW_KERNEL_CUH_
