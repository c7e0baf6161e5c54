// SPDX-License-Identifier: Apache-2.0
// Runs a formula (formula.h) over a block of rows on the CPU: what
// cpu_kernels.h compiles for each level of x86-64.
//
// The code is shaped by what g++ 12 vectorizes.
#ifndef XLA_FFI_OPS_KIT_RUN_ROWS_H_
#define XLA_FFI_OPS_KIT_RUN_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/formula.h"
#include "xla_ffi_ops/kit/outputs.h"
#include "xla_ffi_ops/kit/row_pieces.h"
#include "xla_ffi_ops/kit/row_total.h"
#include "xla_ffi_ops/kit/run_formula.h"

namespace xla_ffi_ops::internal {

// The most columns of a row that stays in the cache between passes, with what
// is stored: as 4 bytes each, a quarter of a second-level cache of 1 MiB.
inline constexpr int64_t kCachedCols = 262144 / 4;

// The passes over row i. `added` is where the numbers that the last pass adds
// go, or nullptr.
template <int p, typename Acc, typename F, typename Ahead, typename Added,
          typename... In>
XLA_FFI_OPS_HD void RunPasses(const F& f, typename F::Row& row, int64_t i,
                              int64_t cols, Ahead ahead, Added added,
                              In&... in) {
  if constexpr (p < F::kPasses) {
    using S = decltype(f.Add(Pass<p>(), row, Acc(in.Piece(i, 0, 0)[0])...));
    const auto known = row;
    S sum = S::Initial();
    CompensatedTotal<S> total;
    for (int64_t first = 0; first < cols; first += kPiece<Acc>) {
      const int64_t n = std::min(kPiece<Acc>, cols - first);
      const auto run = [=](auto... x) XLA_FFI_OPS_INLINED {
        const auto statistic = [=](int64_t j) XLA_FFI_OPS_INLINED {
          const S s = f.Add(Pass<p>(), known, Acc(x[j])...);
          if constexpr (p + 1 == F::kPasses && std::is_pointer_v<Added>) {
            added[first + j] = s.value[0];
          }
          return s;
        };
        return Total<S, Acc>(n, statistic, [=](int64_t j) XLA_FFI_OPS_INLINED {
          ahead(first + j);
        });
      };
      sum = run(in.Piece(i, first, n)...);
      if (cols > kPiece<Acc>) total.Add(sum);
    }
    f.Finish(Pass<p>(), row, cols > kPiece<Acc> ? total.value() : sum,
             static_cast<Acc>(cols));
    RunPasses<p + 1, Acc>(f, row, i, cols, ahead, added, in...);
  }
}

// Row i; what it adds to the sums over rows is added to `columns`.
template <typename F, typename Acc, int m, typename... In>
XLA_FFI_OPS_HD void RunRow(
    const F& f, int64_t i, int64_t cols,
    const Operands<OutputRows<Acc>, F::kOutputs>& outputs,
    const Outputs<Acc, m>& columns, In&... in) {
  constexpr int n = F::kOutputs;
  // Stores wait for lines that are not in the cache, up to a third of the time.
  // So the passes prefetch them.
  const FetchedRow first_row = outputs[0].Fetched(i, kCachedCols);
  const FetchedRow last_row = outputs[n - 1].Fetched(i, kCachedCols);
  const auto fetch = [=](int64_t j) XLA_FFI_OPS_INLINED {
    first_row.template Fetch<true>(j);
    if (n > 1) last_row.template Fetch<true>(j);
  };
  typename F::Row row = f.Load(i);
  RunPasses<0, Acc>(f, row, i, cols, fetch, nullptr, in...);
  f.Save(i, row);
  for (int64_t first = 0; first < cols; first += kPiece<Acc>) {
    const int64_t count = std::min(kPiece<Acc>, cols - first);
    Acc* const y = outputs[0].Piece(i, first);
    Acc* const z = outputs[n - 1].Piece(i, first);
    const auto sums = columns.At(first);
    const auto store = [=](auto... x) XLA_FFI_OPS_INLINED {
#pragma omp simd
      for (int64_t j = 0; j < count; ++j) {
        // All is loaded before the stores: as an output could be an input, the
        // compiler would load it once more.
        const auto values = f.Store(row, Acc(x[j])...);
        if constexpr (m > 0) {
          const auto terms = f.Column(row, Acc(x[j])...);
          sums.data[0][j] += terms.value[0];
          if constexpr (m > 1) sums.data[1][j] += terms.value[1];
        }
        y[j] = values.value[0];
        if constexpr (n > 1) z[j] = values.value[1];
      }
    };
    store(in.Piece(i, first, count)...);
    for (int o = 0; o < n; ++o) outputs[o].Store(i, first, count);
  }
}

// Row i of a formula that has StoreAdded, and no weights. Such passes compute
// much: they fetch the next row, too.
template <typename F, typename Acc, typename... In>
XLA_FFI_OPS_HD void RunRowByAdded(const F& f, int64_t i, int64_t cols,
                                  const OutputRows<Acc>& output, Acc* added,
                                  In&... in) {
  const FetchedRow y = output.Fetched(i, kCachedCols);
  const auto fetch = [=](auto... x) XLA_FFI_OPS_INLINED {
    return [=](int64_t j) XLA_FFI_OPS_INLINED {
      y.template Fetch<true>(j);
      (x.template Fetch<false>(j), ...);
    };
  };
  typename F::Row row = f.Load(i);
  RunPasses<0, Acc>(f, row, i, cols, fetch(in.Fetched(i + 1)...), added, in...);
  f.Save(i, row);
  for (int64_t first = 0; first < cols; first += kPiece<Acc>) {
    const int64_t n = std::min(kPiece<Acc>, cols - first);
    Acc* const values = output.Piece(i, first);
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      values[j] = f.StoreAdded(row, added[first + j]).value[0];
    }
    output.Store(i, first, n);
  }
}

// Rows [begin, end); what they add to the sums over rows is added to `columns`.
// In: InputRows, DirectRows or AbsentRows.
template <typename F, typename Acc, int m, typename... In>
XLA_FFI_OPS_HD void RunBlock(
    const F& f, int64_t begin, int64_t end, int64_t cols,
    const Operands<OutputRows<Acc>, F::kOutputs>& outputs,
    const Outputs<Acc, m>& columns, In&... in) {
  int64_t row = begin;
  if constexpr (kStoresAdded<F>) {
    if (cols <= kCachedCols) {
      std::vector<Acc> added(cols);
      for (; row < end; ++row) {
        RunRowByAdded(f, row, cols, outputs[0], added.data(), in...);
      }
    }
  }
  for (; row < end; ++row) RunRow(f, row, cols, outputs, columns, in...);
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_RUN_ROWS_H_
