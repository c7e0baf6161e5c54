// SPDX-License-Identifier: Apache-2.0
// What a kernel that runs a formula of rows (rows/formula.h) is called with.
#ifndef XLA_FFI_OPS_ROWS_CUDA_ROW_ARGS_CUH_
#define XLA_FFI_OPS_ROWS_CUDA_ROW_ARGS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/rows/workspace.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// T is the dtype of what each row has, W that of the weights.
// Kernels' names, which tests read, say how many sums there are.
template <typename Formula_, typename T_, typename W_,
          int kSums_ = Formula_::kSums>
struct RowArgs : RowRange {
  using Formula = Formula_;
  using T = T_;
  using W = W_;
  using Acc = Accumulator<T>;
  static constexpr int kInputs = Formula::kInputs;
  static constexpr int kWeights = Formula::Weights::kSize;
  static constexpr int kOutputs = Formula::kOutputs;
  static constexpr int kSums = kSums_;

  // The threads of a multiprocessor: 64 registers for each, or 128 where sums
  // over rows are among them.
  static constexpr int kThreads = kSums > 0 ? 512 : 1024;

  Formula formula;
  Operands<Rows<const T>, kInputs> inputs;
  Operands<Rows<const W>, kWeights> weights;  // null where absent
  Operands<T*, kOutputs> outputs;

  // Sums over the rows of a group have two steps: the rows are dealt out to
  // blocks or clusters, each of which leaves a part in memory for every
  // `part_steps` times that it takes rows, and SumPartsKernel adds the parts
  // up. Where there is one part alone, there is no second step.
  Operands<Workspace<W, Acc>, kSums> sums;
  int64_t parts;  // at most; 0: no sum is wanted
  int64_t part_steps;

  // Depends on the shapes of arrays alone, as a CUDA graph that is recorded
  // once more has to have the same kernels.
  XLA_FFI_OPS_HD bool HasParts() const { return parts > 1 && rows > 1; }

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

#endif  // XLA_FFI_OPS_ROWS_CUDA_ROW_ARGS_CUH_
