// SPDX-License-Identifier: Apache-2.0
// What takes the place of the first pass of a formula with Accepts
// (rows/formula.h): an element of the row for each lane of a warp.
#ifndef XLA_FFI_OPS_ROWS_CUDA_ROW_SAMPLE_CUH_
#define XLA_FFI_OPS_ROWS_CUDA_ROW_SAMPLE_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/rows/cuda/formula_steps.cuh"
#include "xla_ffi_ops/rows/cuda/row_args.cuh"
#include "xla_ffi_ops/rows/cuda/row_operands.cuh"
#include "xla_ffi_ops/rows/cuda/row_reduce.cuh"
#include "xla_ffi_ops/rows/cuda/row_threads.cuh"
#include "xla_ffi_ops/rows/formula.h"

namespace xla_ffi_ops {

// The same elements for all warps of a row. The threads of a row that is
// narrower than a warp have too few elements for a sample.
template <typename Args>
class RowSample {
 public:
  static __device__ bool Exists(const Args& args) {
    return args.cols >= kWarp && blockDim.x >= kWarp;
  }

  __device__ void Load(const Args& args, int64_t row) {
    if (!Exists(args)) return;
#pragma unroll
    for (int n = 0; n < Args::kInputs; ++n) {
      packs_[n].Load(args.inputs[n][row] + Lane());
    }
  }

  template <typename Row>
  __device__ void FinishFirstPass(const Args& args, Row& row,
                                  const WeightRow<Args>& weights) const {
    const internal::AddOf<0, typename Args::Formula> add{args.formula, row};
    const Elements<Args, 1> elements(args, packs_, weights, Lane());
    auto stat = elements.Call(0, add);
    internal::CombineLanes(kWarp, stat);
    args.formula.Finish(Pass<0>(), row, stat,
                        static_cast<typename Args::Acc>(kWarp));
  }

 private:
  static __device__ int Lane() { return threadIdx.x % kWarp; }

  Pack<typename Args::T, 1> packs_[Args::kInputs];
};

// The passes over a row of a formula with Accepts: after a sample, if that is
// good enough. The threads of a row agree on that, as do those of a warp: who
// shares a barrier has to.
template <bool kLong, typename Args, typename Row, typename Reduce,
          typename ForEach, typename Keep>
__device__ inline void MakePassesAfter(const RowSample<Args>& sample,
                                       const Args& args, Row& row,
                                       const WeightRow<Args>& weights,
                                       Reduce& reduce, const ForEach& for_each,
                                       const Keep& keep) {
  if (sample.Exists(args)) {
    sample.FinishFirstPass(args, row, weights);
    MakePasses<kLong, 1>(args, row, reduce, for_each, keep);
    if (__all_sync(kAllLanes, args.formula.Accepts(row))) return;
  }
  MakePasses<kLong>(args, row, reduce, for_each, keep);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CUDA_ROW_SAMPLE_CUH_
