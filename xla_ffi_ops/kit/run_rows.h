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
#include "xla_ffi_ops/kit/row_elements.h"
#include "xla_ffi_ops/kit/row_pieces.h"
#include "xla_ffi_ops/kit/row_total.h"
#include "xla_ffi_ops/kit/run_formula.h"

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
XLA_FFI_OPS_HD void RunPasses(const F& f, typename F::Row& row, int64_t i,
                              int64_t cols, int64_t sample, const RowPart& part,
                              Ahead ahead, Added added, In&... in) {
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
    RunPasses<p + 1, level, Acc>(f, row, i, cols, sample, part, ahead, added,
                                 in...);
  }
}

// Stores n elements, which are computed from the pieces x, and adds to the sums
// over rows.
template <int level, bool nontemporal, typename Acc, typename F, typename T,
          int m, typename... X>
XLA_FFI_OPS_HD void StorePiece(const F& f, const typename F::Row& row,
                               int64_t n, T* y, T* z,
                               const Outputs<Acc, m>& sums, X... x) {
  ForBlocks<kBlock<Acc>>(n, [=](int64_t j, auto count) XLA_FFI_OPS_INLINED {
    constexpr int size = decltype(count)::value;
    const auto store = [=](const auto&... block) XLA_FFI_OPS_INLINED {
      // All is computed before the stores: as an output could be an input, the
      // compiler would load it once more.
      Acc values[F::kOutputs][size];
#pragma omp simd
      for (int k = 0; k < size; ++k) {
        const auto value = f.Store(row, Acc(block[k])...);
        if constexpr (m > 0) {
          const auto terms = f.Column(row, Acc(block[k])...);
          sums.data[0][j + k] += terms.value[0];
          if constexpr (m > 1) sums.data[1][j + k] += terms.value[1];
        }
        values[0][k] = value.value[0];
        if constexpr (F::kOutputs > 1) values[1][k] = value.value[1];
      }
      Put<level, nontemporal>(values[0], y, j);
      if constexpr (F::kOutputs > 1) Put<level, nontemporal>(values[1], z, j);
    };
    store(x.template Take<level, size>(j)...);
  });
}

// The `part` of row i; what it adds to the sums over rows is added to
// `columns`.
template <int level, typename F, typename T, typename Acc, int m,
          typename... In>
XLA_FFI_OPS_HD void RunRow(const F& f, int64_t i, int64_t cols,
                           const RowPart& part,
                           const Operands<OutputRows<T>, F::kOutputs>& outputs,
                           const Outputs<Acc, m>& columns, In&... in) {
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
      RunPasses<0, level, Acc>(f, row, i, cols, sample, part, fetch, nullptr,
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
  if (!part.Has(F::kPasses)) return;
  if (part.begin == 0) f.Save(i, row);  // Once for each row.
  for (int64_t first = part.begin; first < part.end; first += kPiece<Acc>) {
    const int64_t count = std::min(kPiece<Acc>, part.end - first);
    T* const y = outputs[0].Piece(i, first);
    T* const z = outputs[n - 1].Piece(i, first);
    const auto store = [&](auto nontemporal) XLA_FFI_OPS_INLINED {
      StorePiece<level, decltype(nontemporal)::value>(
          f, row, count, y, z, columns.At(first - part.begin),
          in.Piece(i, first, count)...);
    };
    // Stage runs calls with such stores at this level.
    if constexpr (level == 3 && std::is_same_v<T, Acc>) {
      if (outputs[0].NonTemporal(y) && outputs[n - 1].NonTemporal(z)) {
        store(std::true_type());
        continue;
      }
    }
    store(std::false_type());
  }
}

// A formula whose Store is the StoreAdded of F.
template <typename F>
struct FromAdded {
  using Row = typename F::Row;
  static constexpr int kOutputs = 1;

  template <typename Acc>
  XLA_FFI_OPS_HD Values<Acc, 1> Store(const Row& row, Acc added) const {
    return f.StoreAdded(row, added);
  }

  F f;
};

// Row i of a formula that has StoreAdded, and no weights. `added` may be the
// row of the output.
template <int level, typename F, typename T, typename Acc, typename... In>
XLA_FFI_OPS_HD void RunRowByAdded(const F& f, int64_t i, int64_t cols,
                                  const RowPart& part, T* y, Acc* added,
                                  In&... in) {
  // The last pass computes much, so the next row comes meanwhile. A row of a
  // page or less comes sooner without: a Zen 4 takes 0.8 of the time.
  const int64_t next = i + (cols * sizeof(T) > 4096);
  const auto fetch = [=](auto... x) XLA_FFI_OPS_INLINED {
    return [=](int64_t j)
               XLA_FFI_OPS_INLINED { (x.template Fetch<false>(j), ...); };
  };
  typename F::Row row = f.Load(i);
  RunPasses<0, level, Acc>(f, row, i, cols, cols, part,
                           fetch(in.Fetched(next)...), added, in...);
  f.Save(i, row);
  for (int64_t first = 0; first < cols; first += kPiece<Acc>) {
    StorePiece<level, false>(
        FromAdded<F>{f}, row, std::min(kPiece<Acc>, cols - first), y + first,
        y + first, Outputs<Acc, 0>(), Elements<Acc>{added + first});
  }
}

// The `part` of rows [begin, end); what they add to the sums over rows is added
// to `columns`. In: InputRows, HalfRows or AbsentRows.
template <int level, typename F, typename T, typename Acc, int m,
          typename... In>
XLA_FFI_OPS_HD void RunBlock(
    const F& f, int64_t begin, int64_t end, int64_t cols, const RowPart& part,
    const Operands<OutputRows<T>, F::kOutputs>& outputs,
    const Outputs<Acc, m>& columns, In&... in) {
  int64_t row = begin;
  if constexpr (kStoresAdded<F>) {
    if (part.phase == RowPart::kAll && cols <= kCachedCols &&
        outputs[0].wanted()) {
      // An Acc waits where its result will be.
      constexpr bool in_place = std::is_same_v<T, Acc>;
      std::vector<Acc> added(in_place ? 0 : cols);
      for (; row < end; ++row) {
        T* const y = outputs[0].Piece(row, 0);
        RunRowByAdded<level>(
            f, row, cols, part, y,
            in_place ? reinterpret_cast<Acc*>(y) : added.data(), in...);
      }
    }
  }
  for (; row < end; ++row) {
    RunRow<level>(f, row, cols, part, outputs, columns, in...);
  }
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_RUN_ROWS_H_
