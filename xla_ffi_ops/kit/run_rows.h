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

// How many elements loops take at a time.
template <typename... In>
inline constexpr int kEachOf = std::max({In::kEach...});

// The statistic of a piece of row i; null if this call works on whole rows.
template <typename S, typename Acc>
XLA_FFI_OPS_HD S* StatisticOf(const RowPart& part, int64_t i, int64_t cols,
                              int64_t first) {
  if (part.statistics == nullptr) return nullptr;
  const int64_t piece = i * Pieces<Acc>(cols) + first / kPiece<Acc>;
  return reinterpret_cast<S*>(static_cast<Acc*>(part.statistics) + 2 * piece);
}

// The passes over row i that are in `part`; the first one takes `sample`
// columns. `added` is where the numbers that the last pass adds go, or nullptr.
template <int p, typename Acc, typename F, typename Ahead, typename Added,
          typename... In>
XLA_FFI_OPS_HD void RunPasses(const F& f, typename F::Row& row, int64_t i,
                              int64_t cols, int64_t sample, const RowPart& part,
                              Ahead ahead, Added added, In&... in) {
  if constexpr (p < F::kPasses) {
    using S = decltype(f.Add(Pass<p>(), row, Acc(in.Piece(i, 0, 0).One(0))...));
    const auto known = row;
    S sum = S::Initial();
    CompensatedTotal<S> total;
    const int64_t count = p == 0 ? sample : cols;
    const int64_t end = part.Has(p) ? std::min(count, part.end) : 0;
    for (int64_t first = part.begin; first < end; first += kPiece<Acc>) {
      const int64_t n = std::min(kPiece<Acc>, end - first);
      const auto run = [=](auto... x) XLA_FFI_OPS_INLINED {
        const auto statistic = [=](auto take,
                                   int64_t place) XLA_FFI_OPS_INLINED {
          const S s = f.Add(Pass<p>(), known, Acc(take(x))...);
          if constexpr (p + 1 == F::kPasses && std::is_pointer_v<Added>) {
            added[first + place] = s.value[0];
          }
          return s;
        };
        return Total<S, Acc, kEachOf<In...>>(
            n, statistic,
            [=](int64_t j) XLA_FFI_OPS_INLINED { ahead(first + j); });
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
    RunPasses<p + 1, Acc>(f, row, i, cols, sample, part, ahead, added, in...);
  }
}

// Stores value(take, place), which are one or two, for each of n elements, and
// adds column(take) to the sums, in the order of SplitPairs.
template <int m, typename Value, typename Column>
XLA_FFI_OPS_HD void StorePairs(int64_t n, const Value& value,
                               const Column& column, StoredPairs y,
                               StoredPairs z, const Outputs<float, m>& sums) {
  constexpr int outputs = sizeof(value(TakeOne{0}, 0).value) / sizeof(float);
  const int64_t second = (n + 1) / 2;
#pragma omp simd
  for (int64_t k = 0; k < n / 2; ++k) {
    // All is computed before the stores: g++ 12 vectorizes no other order.
    const auto a = value(TakeAt<0>{k}, k);
    const auto b = value(TakeAt<1>{k}, second + k);
    const uint32_t word = StoredPairs::Join(a.value[0], b.value[0]);
    if constexpr (m > 0) {
      const auto c = column(TakeAt<0>{k});
      const auto d = column(TakeAt<1>{k});
      sums.data[0][k] += c.value[0];
      sums.data[0][second + k] += d.value[0];
      if constexpr (m > 1) {
        sums.data[1][k] += c.value[1];
        sums.data[1][second + k] += d.value[1];
      }
    }
    if constexpr (outputs > 1) {
      z.Put(k, StoredPairs::Join(a.value[1], b.value[1]));
    }
    y.Put(k, word);
  }
  if (n % 2 != 0) {
    const auto last = value(TakeOne{n - 1}, n / 2);
    if constexpr (m > 0) {
      const auto terms = column(TakeOne{n - 1});
      for (int i = 0; i < m; ++i) sums.data[i][n / 2] += terms.value[i];
    }
    y.PutOne(n - 1, last.value[0]);
    if constexpr (outputs > 1) z.PutOne(n - 1, last.value[1]);
  }
}

// The `part` of row i; what it adds to the sums over rows is added to
// `columns`.
template <typename F, typename Acc, int m, typename... In>
XLA_FFI_OPS_HD void RunRow(
    const F& f, int64_t i, int64_t cols, const RowPart& part,
    const Operands<OutputRows<Acc>, F::kOutputs>& outputs,
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
      RunPasses<0, Acc>(f, row, i, cols, sample, part, fetch, nullptr, in...);
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
  // Without passes, no whole piece is kept for this: so it stays in the cache.
  constexpr int64_t kMost = F::kPasses > 0 ? kPiece<Acc> : kStored<Acc>;
  for (int64_t first = part.begin; first < part.end; first += kMost) {
    const int64_t count = std::min(kMost, part.end - first);
    const auto sums = columns.At(first - part.begin);
    if constexpr (kEachOf<In...> == 2) {
      const StoredPairs y = outputs[0].InPairs(i, first);
      const StoredPairs z = outputs[n - 1].InPairs(i, first);
      const auto store = [=](auto... x) XLA_FFI_OPS_INLINED {
        const auto values = [=](auto take, int64_t) XLA_FFI_OPS_INLINED {
          return f.Store(row, Acc(take(x))...);
        };
        const auto column = [=](auto take) XLA_FFI_OPS_INLINED {
          if constexpr (m > 0) return f.Column(row, Acc(take(x))...);
        };
        StorePairs(count, values, column, y, z, sums);
      };
      store(in.Piece(i, first, count)...);
      continue;
    }
    const auto store = [=, &outputs](auto... x) XLA_FFI_OPS_INLINED {
      for (int64_t done = 0; done < count; done += kStored<Acc>) {
        const int64_t stored = std::min(kStored<Acc>, count - done);
        Acc* const y = outputs[0].Piece(i, first + done);
        Acc* const z = outputs[n - 1].Piece(i, first + done);
#pragma omp simd
        for (int64_t k = 0; k < stored; ++k) {
          // All is loaded before the stores: as an output could be an input,
          // the compiler would load it once more.
          const int64_t j = done + k;
          const TakeAt<0> take{j};
          const auto values = f.Store(row, Acc(take(x))...);
          if constexpr (m > 0) {
            const auto terms = f.Column(row, Acc(take(x))...);
            sums.data[0][j] += terms.value[0];
            if constexpr (m > 1) sums.data[1][j] += terms.value[1];
          }
          y[k] = values.value[0];
          if constexpr (n > 1) z[k] = values.value[1];
        }
        for (int o = 0; o < n; ++o) outputs[o].Store(i, first + done, stored);
      }
    };
    store(in.Piece(i, first, count)...);
  }
}

// Row i of a formula that has StoreAdded, and no weights. Such passes compute
// much: they fetch the next row, too.
template <typename F, typename Acc, typename... In>
XLA_FFI_OPS_HD void RunRowByAdded(const F& f, int64_t i, int64_t cols,
                                  const RowPart& part,
                                  const OutputRows<Acc>& output, Acc* added,
                                  In&... in) {
  const FetchedRow y = output.Fetched(i);
  const auto fetch = [=](auto... x) XLA_FFI_OPS_INLINED {
    return [=](int64_t j) XLA_FFI_OPS_INLINED {
      y.template Fetch<true>(j);
      (x.template Fetch<false>(j), ...);
    };
  };
  typename F::Row row = f.Load(i);
  RunPasses<0, Acc>(f, row, i, cols, cols, part, fetch(in.Fetched(i + 1)...),
                    added, in...);
  f.Save(i, row);
  constexpr int64_t kMost = kEachOf<In...> == 2 ? kPiece<Acc> : kStored<Acc>;
  for (int64_t first = 0; first < cols; first += kMost) {
    const int64_t n = std::min(kMost, cols - first);
    if constexpr (kEachOf<In...> == 2) {
      const auto value = [=, &f](auto, int64_t place) XLA_FFI_OPS_INLINED {
        return f.StoreAdded(row, added[first + place]);
      };
      const StoredPairs y = output.InPairs(i, first);
      StorePairs<0>(n, value, 0, y, y, {});
      continue;
    }
    Acc* const values = output.Piece(i, first);
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      values[j] = f.StoreAdded(row, added[first + j]).value[0];
    }
    output.Store(i, first, n);
  }
}

// The `part` of rows [begin, end); what they add to the sums over rows is added
// to `columns`. In: InputRows; PairRows and SplitRows; or AbsentRows.
template <typename F, typename Acc, int m, typename... In>
XLA_FFI_OPS_HD void RunBlock(
    const F& f, int64_t begin, int64_t end, int64_t cols, const RowPart& part,
    const Operands<OutputRows<Acc>, F::kOutputs>& outputs,
    const Outputs<Acc, m>& columns, In&... in) {
  int64_t row = begin;
  if constexpr (kStoresAdded<F>) {
    if (part.phase == RowPart::kAll && cols <= kCachedCols) {
      std::vector<Acc> added(cols);
      for (; row < end; ++row) {
        RunRowByAdded(f, row, cols, part, outputs[0], added.data(), in...);
      }
    }
  }
  for (; row < end; ++row) RunRow(f, row, cols, part, outputs, columns, in...);
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_RUN_ROWS_H_
