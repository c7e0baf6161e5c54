// SPDX-License-Identifier: Apache-2.0
// What a thread has of the operands of a kernel that runs a formula.
#ifndef XLA_FFI_OPS_ROWS_CUDA_ROW_OPERANDS_CUH_
#define XLA_FFI_OPS_ROWS_CUDA_ROW_OPERANDS_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/rows/cuda/row_args.cuh"

namespace xla_ffi_ops {

// The rows of weights that belong to one row; null where there is none.
template <typename Args>
struct WeightRow {
  const typename Args::W* at[Args::kWeights + 1];

  __device__ WeightRow(const Args& args, int64_t row) {
#pragma unroll
    for (int i = 0; i < Args::kWeights; ++i) {
      const auto& rows = args.weights[i];
      at[i] = rows.data == nullptr ? nullptr : rows[row];
    }
  }
};

// One access of each input, and of the weights there, widened.
template <typename Args, int kSize_>
struct Elements {
  static constexpr int kSize = kSize_;
  using T = typename Args::T;
  using Acc = typename Args::Acc;

  Acc input[Args::kInputs][kSize];
  Acc weight[Args::kWeights + 1][kSize];

  __device__ Elements(const Args& args,
                      const Pack<T, kSize> (&packs)[Args::kInputs],
                      const WeightRow<Args>& weights, int64_t column) {
#pragma unroll
    for (int i = 0; i < Args::kInputs; ++i) {
#pragma unroll
      for (int k = 0; k < kSize; ++k) input[i][k] = packs[i][k];
    }
#pragma unroll
    for (int i = 0; i < Args::kWeights; ++i) {
      if (weights.at[i] != nullptr) {
        LoadValues(weights.at[i] + column, weight[i]);
      } else {
#pragma unroll
        for (int k = 0; k < kSize; ++k) {
          weight[i][k] = Args::Formula::Weights::Absent(i);
        }
      }
    }
  }

  // Returns fn(input..., weight...) of element k.
  template <typename Fn>
  __device__ auto Call(int k, const Fn& fn) const {
    return Call(k, fn, std::make_index_sequence<Args::kInputs>(),
                std::make_index_sequence<Args::kWeights>());
  }

 private:
  template <typename Fn, size_t... i, size_t... w>
  __device__ auto Call(int k, const Fn& fn, std::index_sequence<i...>,
                       std::index_sequence<w...>) const {
    return fn(input[i][k]..., weight[w][k]...);
  }
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CUDA_ROW_OPERANDS_CUH_
