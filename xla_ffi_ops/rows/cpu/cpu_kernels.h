// SPDX-License-Identifier: Apache-2.0
// Compiles formulas for the CPU. An op's .cc has, for each of its formulas,
//
//   namespace xla_ffi_ops {
//   template struct Kernels<Cpu, my_op::ForwardFormula, my_op::RowTypes>;
//   }  // namespace xla_ffi_ops
//
// Handlers do not include this file: a kernel would be compiled once more, with
// other options, and either might be linked.
#ifndef XLA_FFI_OPS_ROWS_CPU_CPU_KERNELS_H_
#define XLA_FFI_OPS_ROWS_CPU_CPU_KERNELS_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/rows/cpu/row_pieces.h"
#include "xla_ffi_ops/rows/cpu/row_stage.h"
#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

namespace internal {

// First and then Rest, for so many rows that the results of First stay in the
// cache.
template <typename F, typename T, typename W>
void RunFirstAndRest(const F& formula, const RowRange& range,
                     const RowArrays<F, T, W>& arrays) {
  const int64_t end = range.begin + range.groups * range.rows;
  const int64_t most =
      kCachedCols / std::clamp<int64_t>(range.cols, 1, kCachedCols);
  T* const between = arrays.outputs[1];
  // Rest reads the results of First: these stay in the caches.
  // In place, the lines of its own results are there.
  RowRange begun = range, last = range;
  begun.uncached = false;
  for (const auto& input : arrays.inputs.operand) {
    last.uncached &= input.data != arrays.outputs[0];
  }
  const typename F::First sum;
  RowLoop<typename F::First, T, T> first(sum, begun,
                                         {arrays.inputs, {}, {between}}, {});
  RowLoop<typename F::Rest, T, W> rest(
      formula, last,
      {{Rows<const T>{between, range.cols, {1, {1}, {1}}}},
       arrays.weights,
       {arrays.outputs[0]}},
      {});
  const bool begins =
      range.part == nullptr || (range.part->phase == 0 && !range.part->ends);
  for (int64_t row = range.begin; row < end; row += most) {
    const int64_t stop = std::min(end, row + most);
    if (begins) first.Run(row, stop, {});
    rest.Run(row, stop, {});
  }
}

}  // namespace internal

template <typename F, typename T, typename W>
void RunFormula(Cpu, const F& formula, const RowRange& range,
                const RowArrays<F, T, W>& arrays,
                const Operands<SumOf<Cpu, T, W>, F::kSums>& sums) {
  // What is not rounded is added again sooner than it is stored and loaded.
  if constexpr (kHasFirst<F> && kIs16BitFloat<T>) {
    internal::RunFirstAndRest(formula, range, arrays);
  } else {
    internal::RowLoop<F, T, W> loop(formula, range, arrays, sums);
    for (int64_t group = 0; group < range.groups; ++group) {
      auto group_sums = sums;
      for (int i = 0; i < F::kSums; ++i) {
        if (sums[i] != nullptr) group_sums[i] += group * range.cols;
      }
      const int64_t begin = range.begin + group * range.rows;
      loop.Run(begin, begin + range.rows, group_sums);
    }
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CPU_CPU_KERNELS_H_
