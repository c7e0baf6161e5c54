// SPDX-License-Identifier: Apache-2.0
// What a kernel that runs a formula of rows (kit/formula.h) is called with.
#ifndef XLA_FFI_OPS_CUDA_ROW_ARGS_CUH_
#define XLA_FFI_OPS_CUDA_ROW_ARGS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/kit/formula.h"
#include "xla_ffi_ops/kit/rows.h"
#include "xla_ffi_ops/kit/workspace.h"

namespace xla_ffi_ops {

// Operands of one kind, of which an op may have none.
template <typename T, int n>
struct Operands {
  T operand[n > 0 ? n : 1];

  XLA_FFI_OPS_HD T& operator[](int i) { return operand[i]; }
  XLA_FFI_OPS_HD const T& operator[](int i) const { return operand[i]; }
};
template <typename T, typename... Same>
Operands(T, Same...) -> Operands<T, 1 + sizeof...(Same)>;

// An operand that rows may share. If rows.data is null, all of its elements are
// `absent`.
template <typename W>
struct Weight {
  Rows<const W> rows;
  int absent;
};

// For formulas without weights, or sums over rows.
template <typename W>
inline constexpr Operands<Weight<W>, 0> kNoWeights = {};
template <typename T, typename W>
inline constexpr Operands<Workspace<W, Accumulator<T>>, 0> kNoSums = {};

// Rows begin to begin + groups * rows.
struct RowRange {
  int64_t begin;
  int64_t groups;  // each has its own sums over its rows
  int64_t rows;    // of a group
  int64_t cols;
};

// T is the dtype of what each row has, W that of the weights.
template <typename Formula_, typename T_, typename W_, int kInputs_,
          int kWeights_, int kOutputs_, int kSums_>
struct RowArgs : RowRange {
  using Formula = Formula_;
  using T = T_;
  using W = W_;
  using Acc = Accumulator<T>;
  static constexpr int kInputs = kInputs_;
  static constexpr int kWeights = kWeights_;
  static constexpr int kOutputs = kOutputs_;
  static constexpr int kSums = kSums_;

  // The threads of a multiprocessor: 64 registers for each, or 128 where sums
  // over rows are among them.
  static constexpr int kThreads = kSums > 0 ? 512 : 1024;

  Formula formula;
  Operands<Rows<const T>, kInputs> inputs;
  Operands<Weight<W>, kWeights> weights;
  Operands<T*, kOutputs> outputs;

  // Sums over the rows of a group have two stages: the rows are dealt out to
  // blocks or clusters, each of which leaves a part in memory for every
  // `part_steps` times that it takes rows, and SumPartsKernel adds the parts
  // up. Where there is one part alone, there is no second stage.
  Operands<Workspace<W, Acc>, kSums> sums;
  int64_t parts;  // at most; 0: no sum is wanted
  int64_t part_steps;

  // Depends on the shapes of arrays alone, as a CUDA graph that is recorded
  // once more has to have the same kernels.
  XLA_FFI_OPS_HD bool HasStages() const { return parts > 1 && rows > 1; }

  // The sums of a part, or the total of all, from `column` on.
  template <int kSize>
  __device__ void LoadSums(int64_t group, int64_t part, int64_t column,
                           Acc (&values)[kSums][kSize]) const {
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      if (sums[i].out == nullptr) continue;
      LoadValues(PartAt(i, group, part) + column, values[i]);
    }
  }
  template <int kSize>
  __device__ void StoreSums(int64_t group, int64_t part, int64_t column,
                            const Acc (&values)[kSums][kSize],
                            bool is_total) const {
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      if (sums[i].out == nullptr) continue;
      if (is_total) {
        StoreValues(values[i], sums[i].out + group * cols + column);
      } else {
        StoreValues(values[i], PartAt(i, group, part) + column);
      }
    }
  }

 private:
  __device__ Acc* PartAt(int i, int64_t group, int64_t part) const {
    return sums[i].memory + (group * sums[i].parts + part) * cols;
  }
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_CUDA_ROW_ARGS_CUH_
