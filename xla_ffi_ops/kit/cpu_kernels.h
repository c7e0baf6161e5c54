// SPDX-License-Identifier: Apache-2.0
// Compiles formulas for the CPU. An op's .cc has, for each of its formulas,
//
//   namespace xla_ffi_ops {
//   template struct Kernels<Cpu, my_op::ForwardFormula, my_op::RowTypes>;
//   }  // namespace xla_ffi_ops
//
// Handlers do not include this file: a kernel would be compiled once more, with
// other options, and either might be linked.
#ifndef XLA_FFI_OPS_KIT_CPU_KERNELS_H_
#define XLA_FFI_OPS_KIT_CPU_KERNELS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/filled_weights.h"
#include "xla_ffi_ops/kit/formula.h"
#include "xla_ffi_ops/kit/long_sums.h"
#include "xla_ffi_ops/kit/outputs.h"
#include "xla_ffi_ops/kit/run_formula.h"
#include "xla_ffi_ops/kit/run_rows.h"
#include "xla_ffi_ops/kit/widened_rows.h"

namespace xla_ffi_ops {

namespace internal {

template <typename F, typename Acc>
using Columns = Outputs<Acc, F::kSums>;

// A plain kernel has no weights and wants no sums; else all weights are there,
// and all sums are wanted.
template <bool kPlain, typename F, typename T, typename W, size_t... i,
          size_t... w>
XLA_FFI_OPS_HD void RunArrays(const F& f, int64_t begin, int64_t end,
                              int64_t cols, const RowArrays<F, T, W>& arrays,
                              const Columns<F, Accumulator<T>>& columns,
                              std::index_sequence<i...>,
                              std::index_sequence<w...>) {
  Outputs<T, F::kOutputs> out;
  std::copy_n(arrays.outputs.operand, F::kOutputs, out.data);
  if constexpr (kPlain) {
    const Outputs<Accumulator<T>, 0> none = {};
    RunBlock(f, begin, end, cols, out, none, arrays.inputs[i]...,
             AbsentRows<typename F::Weights, w>()...);
  } else {
    RunBlock(f, begin, end, cols, out, columns, arrays.inputs[i]...,
             arrays.weights[w]...);
  }
}

// Rows [begin, end). Where this machine converts no vectors of T, they are
// computed as rows of float.
template <bool kPlain, typename F, typename T, typename W>
void RunArrayBlock(const F& f, int64_t begin, int64_t end, int64_t cols,
                   const RowArrays<F, T, W>& arrays,
                   const Columns<F, Accumulator<T>>& columns) {
  const auto run = [=, &f, &arrays, &columns]() XLA_FFI_OPS_INLINED {
    RunArrays<kPlain>(f, begin, end, cols, arrays, columns,
                      std::make_index_sequence<F::kInputs>(),
                      std::make_index_sequence<F::Weights::kSize>());
  };
  if constexpr (sizeof(T) == 2) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      if (CpuLevel() >= 3) return AtCpuLevel<3>(run);
    }
    WidenedArrays<kPlain, F, T, W> widened(arrays, end - begin, cols);
    for (int64_t row = begin; row < end;) {
      const int64_t stop = std::min(end, row + widened.max_rows());
      RunArrayBlock<kPlain>(f, row, stop, cols, widened.Take(row, stop),
                            columns);
      widened.Store(row, stop);
      row = stop;
    }
  } else {
    AtCpuLevel(run);
  }
}

// The rows [begin, end) of one group.
template <typename F, typename T, typename W, typename Acc>
void RunGroup(const F& f, int64_t begin, int64_t end, int64_t cols,
              const RowArrays<F, T, W>& arrays,
              const Operands<Acc*, F::kSums>& sums) {
  bool plain = true;
  for (int i = 0; i < F::Weights::kSize; ++i) {
    plain &= arrays.weights[i].data == nullptr;
  }
  for (int i = 0; i < F::kSums; ++i) plain &= sums[i] == nullptr;
  if (plain) {
    if constexpr (std::is_same_v<W, Acc>) {
      return RunArrayBlock<true>(f, begin, end, cols, arrays, {});
    } else {  // Of no weights, the type does not matter.
      const RowArrays<F, T, Acc> bare{arrays.inputs, {}, arrays.outputs};
      return RunArrayBlock<true>(f, begin, end, cols, bare, {});
    }
  }
  // A kernel for each choice of weights would take long to compile.
  if constexpr (F::Weights::kSize > 0 || F::kSums > 0) {
    RowArrays<F, T, W> all = arrays;
    const FilledWeights<F, T, W> filled(all, cols);
    if constexpr (F::kSums == 0) {
      RunArrayBlock<false>(f, begin, end, cols, all, {});
    } else {
      LongSums<Acc, F::kSums> long_sums(sums.operand, cols, end - begin);
      int64_t row = begin;
      do {
        const int64_t stop = std::min(end, row + kSumBlockRows);
        RunArrayBlock<false>(f, row, stop, cols, all, long_sums.Begin());
        long_sums.Add();
        row = stop;
      } while (row < end);
      long_sums.Finish();
    }
  }
}

}  // namespace internal

template <typename F, typename T, typename W>
void RunFormula(Cpu, const F& formula, const RowRange& range,
                const RowArrays<F, T, W>& arrays,
                const Operands<SumOf<Cpu, T, W>, F::kSums>& sums) {
  for (int64_t group = 0; group < range.groups; ++group) {
    auto group_sums = sums;
    for (int i = 0; i < F::kSums; ++i) {
      if (sums[i] != nullptr) group_sums[i] += group * range.cols;
    }
    const int64_t begin = range.begin + group * range.rows;
    internal::RunGroup(formula, begin, begin + range.rows, range.cols, arrays,
                       group_sums);
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_KIT_CPU_KERNELS_H_
