// SPDX-License-Identifier: Apache-2.0
// Runs the formulas of an op, element by element, in float64.
#ifndef XLA_FFI_OPS_TESTS_CUDA_EMULATOR_RUN_EXACTLY_H_
#define XLA_FFI_OPS_TESTS_CUDA_EMULATOR_RUN_EXACTLY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tests/cuda/emulator/row_arrays.h"
#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

namespace internal {

template <int p = 0, typename Formula, typename Element>
void FinishPasses(const Formula& formula, typename Formula::Row& row,
                  int64_t cols, const Element& element) {
  if constexpr (p < Formula::kPasses) {
    const auto add = [&](auto... x) {
      return formula.Add(Pass<p>(), row, x...);
    };
    auto total = decltype(element(0, add))::Initial();
    for (int64_t j = 0; j < cols; ++j) total.Combine(element(j, add));
    formula.Finish(Pass<p>(), row, total, cols);
    FinishPasses<p + 1>(formula, row, cols, element);
  }
}

template <typename Fn, size_t... i, size_t... w>
auto CallWith(const Fn& fn, const double* inputs, const double* weights,
              std::index_sequence<i...>, std::index_sequence<w...>) {
  return fn(inputs[i]..., weights[w]...);
}

}  // namespace internal

// RunFormula(), one element after another in float64.
template <typename Formula>
void RunExactly(const Formula& formula, const Case& c,
                const RowArrays<Formula, double, double>& arrays,
                const Operands<double*, Formula::kSums>& sums) {
  constexpr int kInputs = Formula::kInputs, kOutputs = Formula::kOutputs;
  constexpr int kWeights = Formula::Weights::kSize, kSums = Formula::kSums;
  for (int i = 0; i < kSums; ++i) std::fill_n(sums[i], c.groups * c.cols, 0.0);
  for (int64_t row = 0; row < c.AllRows(); ++row) {
    const auto element = [&](int64_t j, const auto& fn) {
      double x[kInputs], weight[kWeights + 1];
      for (int i = 0; i < kInputs; ++i) x[i] = arrays.inputs[i][row][j];
      for (int i = 0; i < kWeights; ++i) {
        const auto& rows = arrays.weights[i];
        weight[i] = rows.data ? rows[row][j] : Formula::Weights::Absent(i);
      }
      return internal::CallWith(fn, x, weight,
                                std::make_index_sequence<kInputs>(),
                                std::make_index_sequence<kWeights>());
    };
    auto known = formula.Load(row);
    internal::FinishPasses(formula, known, c.cols, element);
    formula.Save(row, known);
    for (int64_t j = 0; j < c.cols; ++j) {
      const auto values =
          element(j, [&](auto... x) { return formula.Store(known, x...); });
      for (int i = 0; i < kOutputs; ++i) {
        arrays.outputs[i][row * c.cols + j] = values.value[i];
      }
      if constexpr (kSums > 0) {
        const auto terms =
            element(j, [&](auto... x) { return formula.Column(known, x...); });
        for (int i = 0; i < kSums; ++i) {
          sums[i][row / c.rows * c.cols + j] += terms.value[i];
        }
      }
    }
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_TESTS_CUDA_EMULATOR_RUN_EXACTLY_H_
