// SPDX-License-Identifier: Apache-2.0
// Runs a formula (formula.h) over a block of rows on the CPU: what
// run_levels.h compiles for each level of x86-64.
#ifndef XLA_FFI_OPS_ROWS_CPU_RUN_ROWS_H_
#define XLA_FFI_OPS_ROWS_CPU_RUN_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "xla_ffi_ops/rows/cpu/outputs.h"
#include "xla_ffi_ops/rows/cpu/row_passes.h"
#include "xla_ffi_ops/rows/cpu/row_pieces.h"
#include "xla_ffi_ops/rows/cpu/store_rows.h"
#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/row_elements.h"
#include "xla_ffi_ops/vec/store_vector.h"

namespace xla_ffi_ops::internal {

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
  // page or less comes sooner without: a Zen 4 takes 0.8 of the time.
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
          Outputs<Acc, 0>(), [](int64_t) XLA_FFI_OPS_INLINED {},
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

#endif  // XLA_FFI_OPS_ROWS_CPU_RUN_ROWS_H_
