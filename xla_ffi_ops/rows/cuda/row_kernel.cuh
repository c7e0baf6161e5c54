// SPDX-License-Identifier: Apache-2.0
// The kernel that runs a formula on rows that registers hold: what the rows
// have is read once. The threads of a row are those of a warp or a part of it,
// of a block, or of a cluster of blocks. Sums over rows are in registers, too.
#ifndef XLA_FFI_OPS_ROWS_CUDA_ROW_KERNEL_CUH_
#define XLA_FFI_OPS_ROWS_CUDA_ROW_KERNEL_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/rows/cuda/add_rows.cuh"
#include "xla_ffi_ops/rows/cuda/formula_steps.cuh"
#include "xla_ffi_ops/rows/cuda/row_args.cuh"
#include "xla_ffi_ops/rows/cuda/row_operands.cuh"
#include "xla_ffi_ops/rows/cuda/row_reduce.cuh"
#include "xla_ffi_ops/rows/cuda/row_sample.cuh"
#include "xla_ffi_ops/rows/cuda/row_threads.cuh"

namespace xla_ffi_ops {

// A thread has kLoads accesses of kSize elements in each of kRows rows. More
// than one row is for rows that are no wider than a warp. With kAhead, the next
// rows are loaded while these are computed.
template <typename Args, int kSize, int kLoads, int kRows, bool kAhead>
__global__ __launch_bounds__(Args::kThreads, 1) void RowKernel(
    const __grid_constant__ Args args) {
  using T = typename Args::T;
  using Acc = typename Args::Acc;
  constexpr int kSums = Args::kSums > 0 ? Args::kSums : 1;
  using Known = typename Args::Formula::Row;
  // [row, access, input]
  Pack<T, kSize> packs[kRows][kLoads][Args::kInputs];
  Pack<T, kSize> next[kRows][kLoads][Args::kInputs];
  Known next_known[kRows] = {};
  constexpr bool kSamples = kAccepts<typename Args::Formula> && kRows == 1;
  RowSample<Args> next_samples[kRows];
  const int cols = static_cast<int>(args.cols);
  const int first = ThreadInRow() * kSize;
  const int stride = ThreadsPerRow() * kSize;
  // The row of this thread among a group's, of the block's from `base` on.
  const auto row_at = [&](int64_t base, int r) {
    return base + r * static_cast<int>(blockDim.y) + threadIdx.y;
  };
  const auto load_next = [&](int64_t group_begin, int64_t base) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const bool valid = row_at(base, r) < args.rows;
      const int64_t row = group_begin + (valid ? row_at(base, r) : 0);
#pragma unroll
      for (int n = 0; n < Args::kInputs; ++n) {
        const T* const from = args.inputs[n][row];
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
          const int column = first + i * stride;
          next[r][i][n].Clear();
          if (valid && column < cols) next[r][i][n].LoadOnce(from + column);
        }
      }
      next_known[r] = args.formula.Load(row);
      if constexpr (kSamples) next_samples[r].Load(args, row);
    }
  };

  RowReduce<kStatBytes<Args>> reduce;
  const int64_t block_rows = int64_t{blockDim.y} * kRows;
  const int64_t step = gridDim.y * block_rows;
  // Without sums there is one group: that takes no registers.
  constexpr bool kGroups = Args::kSums > 0;
  for (int64_t group = kGroups ? blockIdx.z : 0;
       group < (kGroups ? args.groups : 1); group += kGroups ? gridDim.z : 1) {
    const int64_t group_begin = args.begin + group * args.rows;
    Acc sums[kLoads][kSums][kSize] = {};
    int64_t part = blockIdx.y;
    int64_t steps = 0;  // of this part
    int64_t base = blockIdx.y * block_rows;
    if (kAhead && base < args.rows) load_next(group_begin, base);
    for (; base < args.rows; base += step) {
      if (!kAhead) load_next(group_begin, base);
      Known known[kRows];
      RowSample<Args> samples[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        known[r] = next_known[r];
        if constexpr (kSamples) samples[r] = next_samples[r];
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
#pragma unroll
          for (int n = 0; n < Args::kInputs; ++n) {
            packs[r][i][n] = next[r][i][n];
          }
        }
      }
      if (kAhead && base + step < args.rows) {
        load_next(group_begin, base + step);
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const bool valid = row_at(base, r) < args.rows;
        const int64_t row = group_begin + (valid ? row_at(base, r) : 0);
        const WeightRow<Args> weights(args, row);
        const auto for_each = [&](auto fn) {
#pragma unroll
          for (int i = 0; i < kLoads; ++i) {
            const int column = first + i * stride;
            if (valid && column < cols) {
              fn(column, i,
                 Elements<Args, kSize>(args, packs[r][i], weights, column));
            }
#pragma unroll
            for (int n = 0; n < Args::kInputs; ++n) {
              packs[r][i][n].Reconvert();
            }
          }
        };
        // The numbers that the last pass adds, if these are all that is needed,
        // take the place of the input. For those of 16 bits there is no room.
        constexpr bool kKeeps =
            kStoresAdded<typename Args::Formula> && std::is_same_v<T, Acc>;
        const auto keep = [&](int i, int k, const auto& stat) {
          if constexpr (kKeeps) packs[r][i][0].Set(k, stat.value[0]);
        };
        if constexpr (kSamples) {
          MakePassesAfter</*kLong=*/false>(samples[r], args, known[r], weights,
                                           reduce, for_each, keep);
        } else {
          MakePasses</*kLong=*/false>(args, known[r], reduce, for_each, keep);
        }
        if (valid && first == 0) args.formula.Save(row, known[r]);
        for_each([&](int64_t column, int i, const auto& elements) {
          StoreOutputs<kSize>(args, row, column, [&](int k) {
            if constexpr (kKeeps) {
              return args.formula.StoreAdded(known[r], packs[r][i][0][k]);
            } else {
              return StoreOf(args, known[r], elements, k);
            }
          });
          if constexpr (Args::kSums > 0) {
            AddColumns(args, known[r], elements, sums[i]);
          }
        });
      }
      if constexpr (Args::kSums > 0) {
        if (args.parts == 0) continue;
        const bool is_last = base + step >= args.rows;
        if (++steps < args.part_steps && !is_last) continue;
        const bool stores = AddRowsOfBlock(sums);
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
          const int column = first + i * stride;
          if (stores && column < cols) {
            args.StoreSums(group, part, column, sums[i], !args.HasParts());
          }
#pragma unroll
          for (int n = 0; n < kSums * kSize; ++n) {
            sums[i][n / kSize][n % kSize] = 0;
          }
        }
        part += gridDim.y;
        steps = 0;
      }
    }
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CUDA_ROW_KERNEL_CUH_
