// SPDX-License-Identifier: Apache-2.0
// Computes a formula (formula.h) over a block of rows on the CPU: the passes
// over each row, and then what is stored. cpu_kernels.h compiles it for each
// level of x86-64.
//
// The code is shaped by what g++ 12 vectorizes.
#ifndef XLA_FFI_OPS_ROWS_CPU_ROW_BLOCK_H_
#define XLA_FFI_OPS_ROWS_CPU_ROW_BLOCK_H_

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <vector>

#include "xla_ffi_ops/rows/cpu/long_sums.h"
#include "xla_ffi_ops/rows/cpu/row_pieces.h"
#include "xla_ffi_ops/rows/cpu/row_total.h"
#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/memory.h"
#include "xla_ffi_ops/vec/row_elements.h"

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
  // Stores wait for lines that are not in a cache. So the passes prefetch them.
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

// Stores elements [begin, end), which are computed from the pieces x, and adds
// to the sums over rows. Calls ahead(j) before each line of pieces.
template <int level, bool nontemporal, typename Acc, typename F, typename T,
          int m, typename Ahead, typename... X>
XLA_FFI_OPS_HD void StorePiece(const F& f, const typename F::Row& row,
                               int64_t begin, int64_t end, T* y, T* z,
                               const ColumnSums<Acc, m>& sums, Ahead ahead,
                               X... x) {
  constexpr int kLine = std::max({X::kLine...});
  const auto store_block = [=](int64_t i, auto count) XLA_FFI_OPS_INLINED {
    constexpr int size = decltype(count)::value;
    const int64_t j = begin + i;
    for (int k = 0; k + kLine <= size; k += kLine) ahead(j + k);
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
  };
  ForBlocks<kRowBlock<Acc>>(end - begin, store_block);
}

// Calls store(nontemporal, begin, end) for the parts of `count` elements at y.
// If `past`, all from the first line on may go past the caches.
template <bool past, typename T, typename Store>
XLA_FFI_OPS_HD void StoreLines(T* y, int64_t count, const Store& store) {
  const int64_t begin = past ? std::min(BeforeLine(y), count) : count;
  store(std::false_type(), 0, begin);
  if constexpr (past) store(std::true_type(), begin, count);
}

// How many rows ahead StoreRow fetches an input.
inline constexpr int64_t kRowsAhead = 4;

// Stores row i, and adds what it has for the sums over rows to `columns`.
template <int level, bool past, typename F, typename T, typename Acc, int m,
          typename... In>
XLA_FFI_OPS_HD void StoreRow(
    const F& f, const typename F::Row& row, int64_t i, const RowPart& part,
    const Operands<OutputRows<T>, F::kOutputs>& outputs,
    const ColumnSums<Acc, m>& columns, In&... in) {
  constexpr int n = F::kOutputs;
  if (!part.Has(F::kPasses)) return;
  if (part.begin == 0) f.Save(i, row);  // Once for each row.
  // Memory would rest while the row is computed. This makes norms of 16 bits
  // faster. Float gains nothing, and with two inputs it is slower.
  constexpr bool fetches = past && kIs16BitFloat<T> && F::kInputs == 1;
  FetchedRow next = {};
  if constexpr (fetches) {
    next = std::get<0>(std::tie(in...)).Fetched(i + kRowsAhead);
  }
  for (int64_t first = part.begin; first < part.end; first += kPiece<Acc>) {
    const int64_t count = std::min(kPiece<Acc>, part.end - first);
    T* const y = outputs[0].Piece(i, first);
    T* const z = outputs[n - 1].Piece(i, first);
    const auto store = [&](auto nontemporal, int64_t begin,
                           int64_t end) XLA_FFI_OPS_INLINED {
      StorePiece<level, decltype(nontemporal)::value>(
          f, row, begin, end, y, z, columns.At(first - part.begin),
          [=]([[maybe_unused]] int64_t j) XLA_FFI_OPS_INLINED {
            if constexpr (fetches) next.FetchEarly(first + j);
          },
          in.Piece(i, first, count)...);
    };
    // If `past`, rows of all outputs begin alike in a line.
    StoreLines<past>(y, count, store);
    // The last line, too, or the processor's own prefetch is confused.
    if constexpr (fetches) next.FetchEarly(first + count - 1);
  }
}

// The most columns of a short row: four fill a quarter of a first-level cache.
template <typename T>
inline constexpr int64_t kShort = 2048 / sizeof(T);

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
template <int level, bool past, typename F, typename T, typename Acc,
          typename... In>
XLA_FFI_OPS_HD void StoreRowByAdded(const F& f, int64_t i, int64_t cols,
                                    const RowPart& part, T* y, Acc* added,
                                    In&... in) {
  // The last pass computes much, so the next row comes meanwhile. A row of a
  // page or less comes sooner without.
  const int64_t next = i + (cols * sizeof(T) > kPageBytes);
  const auto fetch = [=](auto... x) XLA_FFI_OPS_INLINED {
    return [=](int64_t j)
               XLA_FFI_OPS_INLINED { (x.template Fetch<false>(j), ...); };
  };
  typename F::Row row = f.Load(i);
  MakePasses<0, level, Acc>(f, row, i, cols, cols, part,
                            fetch(in.Fetched(next)...), added, in...);
  f.Save(i, row);
  for (int64_t first = 0; first < cols; first += kPiece<Acc>) {
    const auto store = [&](auto nontemporal, int64_t begin,
                           int64_t end) XLA_FFI_OPS_INLINED {
      StorePiece<level, decltype(nontemporal)::value>(
          FromAdded<F>{f}, row, begin, end, y + first, y + first,
          ColumnSums<Acc, 0>(), [](int64_t) XLA_FFI_OPS_INLINED {},
          Elements<Acc>{added + first});
    };
    StoreLines<past>(y + first, std::min(kPiece<Acc>, cols - first), store);
  }
}

// The `part` of rows [begin, end); what they add to the sums over rows is added
// to `columns`. In: InputRows, HalfRows or AbsentRows.
template <int level, bool past, typename F, typename T, typename Acc, int m,
          typename... In>
XLA_FFI_OPS_HD void StoreBlock(
    const F& f, int64_t begin, int64_t end, int64_t cols, const RowPart& part,
    const Operands<OutputRows<T>, F::kOutputs>& outputs,
    const ColumnSums<Acc, m>& columns, In&... in) {
  int64_t row = begin;
  if constexpr (kStoresAdded<F>) {
    if (part.phase == RowPart::kAll && cols <= kCachedCols &&
        outputs[0].wanted()) {
      // An Acc waits where its result will be.
      constexpr bool in_place = std::is_same_v<T, Acc>;
      std::vector<Acc> added(in_place ? 0 : cols);
      for (; row < end; ++row) {
        T* const y = outputs[0].Piece(row, 0);
        StoreRowByAdded<level, past>(
            f, row, cols, part, y,
            in_place ? reinterpret_cast<Acc*>(y) : added.data(), in...);
      }
    }
  }
  // The processor begins the next row before the last sums of a row are there.
  // So short rows are stored some at a time: rms_norm takes 0.8 to 0.95 of the
  // time. Sums over rows need the cache themselves.
  constexpr int64_t kMost = m == 0 ? 4 : 1;
  const int64_t most = cols <= kShort<T> / F::kInputs ? kMost : 1;
  while (row < end) {
    typename F::Row rows[kMost];
    const int64_t count = std::min(most, end - row);
    for (int64_t k = 0; k < count; ++k) {
      rows[k] = ReduceRow<level, Acc>(f, row + k, cols, part, outputs, in...);
    }
    for (int64_t k = 0; k < count; ++k, ++row) {
      StoreRow<level, past>(f, rows[k], row, part, outputs, columns, in...);
    }
  }
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_ROWS_CPU_ROW_BLOCK_H_
