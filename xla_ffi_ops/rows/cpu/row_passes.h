// SPDX-License-Identifier: Apache-2.0
// The passes of a formula (formula.h) over a row on the CPU.
//
// The code is shaped by what g++ 12 vectorizes.
#ifndef XLA_FFI_OPS_ROWS_CPU_ROW_PASSES_H_
#define XLA_FFI_OPS_ROWS_CPU_ROW_PASSES_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/rows/cpu/row_pieces.h"
#include "xla_ffi_ops/rows/cpu/row_total.h"
#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::internal {

// The statistic of a piece of row i; null if this call works on whole rows.
template <typename S, typename Acc>
XLA_FFI_OPS_HD S* StatisticOf(const RowPart& part, int64_t i, int64_t cols,
                              int64_t first) {
  if (part.statistics == nullptr) return nullptr;
  const int64_t piece = i * Pieces<Acc>(cols) + first / kPiece<Acc>;
  return reinterpret_cast<S*>(static_cast<Acc*>(part.statistics) + 2 * piece);
}

// The passes over row i that are in `part`; the first one takes `sample`
// columns. The last one calls ahead(j), and stores what it adds in `added`, if
// that is not nullptr.
template <int p, int level, typename Acc, typename F, typename Ahead,
          typename Added, typename... In>
XLA_FFI_OPS_HD void MakePasses(const F& f, typename F::Row& row, int64_t i,
                               int64_t cols, int64_t sample,
                               const RowPart& part, Ahead ahead, Added added,
                               In&... in) {
  if constexpr (p < F::kPasses) {
    using S = decltype(f.Add(Pass<p>(), row, (sizeof(in), Acc())...));
    const auto known = row;
    S sum = S::Initial();
    CompensatedTotal<S> total;
    const int64_t count = p == 0 ? sample : cols;
    const int64_t end = part.Has(p) ? std::min(count, part.end) : 0;
    for (int64_t first = part.begin; first < end; first += kPiece<Acc>) {
      const int64_t n = std::min(kPiece<Acc>, end - first);
      const auto run = [=](auto... x) XLA_FFI_OPS_INLINED {
        const auto statistic = [=](int64_t j,
                                   auto... value) XLA_FFI_OPS_INLINED {
          const S s = f.Add(Pass<p>(), known, value...);
          if constexpr (p + 1 == F::kPasses && std::is_pointer_v<Added>) {
            added[first + j] = s.value[0];
          }
          return s;
        };
        // Not in each pass: a line takes two cycles, even if it is there.
        const auto fetch = [=](int64_t j) XLA_FFI_OPS_INLINED {
          if constexpr (p + 1 == F::kPasses) ahead(first + j);
        };
        return Total<level, S, Acc>(n, statistic, fetch, x...);
      };
      S* const statistic = StatisticOf<S, Acc>(part, i, cols, first);
      const int64_t whole = std::min(kPiece<Acc>, part.end - first);
      sum = part.ends ? *statistic : run(in.Piece(i, first, whole)...);
      if (statistic != nullptr) *statistic = sum;
      if (cols > kPiece<Acc>) total.Add(sum);
    }
    if (part.Ends(p)) {
      f.Finish(Pass<p>(), row, cols > kPiece<Acc> ? total.value() : sum,
               static_cast<Acc>(count));
    }
    MakePasses<p + 1, level, Acc>(f, row, i, cols, sample, part, ahead, added,
                                  in...);
  }
}

// The passes over row i that are in `part`.
template <int level, typename Acc, typename F, typename T, typename... In>
XLA_FFI_OPS_HD typename F::Row ReduceRow(
    const F& f, int64_t i, int64_t cols, const RowPart& part,
    const Operands<OutputRows<T>, F::kOutputs>& outputs, In&... in) {
  constexpr int n = F::kOutputs;
  // Stores wait for lines that are not in a cache, up to a third of the time.
  // So the passes prefetch them.
  const FetchedRow first_row = outputs[0].Fetched(i);
  const FetchedRow last_row = outputs[n - 1].Fetched(i);
  const auto fetch = [=](int64_t j) XLA_FFI_OPS_INLINED {
    first_row.template Fetch<true>(j);
    if (n > 1) last_row.template Fetch<true>(j);
  };
  auto* const known = static_cast<typename F::Row*>(part.known);
  typename F::Row row = part.phase > 0 ? known[i] : f.Load(i);
  if (outputs[0].wanted() || outputs[n - 1].wanted()) {
    int64_t sample = cols;
    if constexpr (kAccepts<F>) {
      // Not of rows that may be long_rows.h's: their bits would differ.
      if (cols <= kCachedCols) sample = std::min(cols, kSample);
    }
    while (true) {
      MakePasses<0, level, Acc>(f, row, i, cols, sample, part, fetch, nullptr,
                                in...);
      if constexpr (kAccepts<F>) {
        if (sample < cols && !f.Accepts(row)) {
          sample = cols;
          continue;
        }
      }
      break;
    }
  }
  if (part.ends) known[i] = row;
  return row;
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_ROWS_CPU_ROW_PASSES_H_
