// SPDX-License-Identifier: Apache-2.0
// Stores what a formula (formula.h) computes from a row on the CPU.
//
// The code is shaped by what g++ 12 vectorizes.
#ifndef XLA_FFI_OPS_ROWS_CPU_STORE_ROWS_H_
#define XLA_FFI_OPS_ROWS_CPU_STORE_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "xla_ffi_ops/rows/cpu/outputs.h"
#include "xla_ffi_ops/rows/cpu/row_pieces.h"
#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/row_elements.h"
#include "xla_ffi_ops/vec/store_vector.h"

namespace xla_ffi_ops::internal {

// Stores elements [begin, end), which are computed from the pieces x, and adds
// to the sums over rows. Calls ahead(j) before each line of pieces.
template <int level, bool nontemporal, typename Acc, typename F, typename T,
          int m, typename Ahead, typename... X>
XLA_FFI_OPS_HD void StorePiece(const F& f, const typename F::Row& row,
                               int64_t begin, int64_t end, T* y, T* z,
                               const Outputs<Acc, m>& sums, Ahead ahead,
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
    const Outputs<Acc, m>& columns, In&... in) {
  constexpr int n = F::kOutputs;
  if (!part.Has(F::kPasses)) return;
  if (part.begin == 0) f.Save(i, row);  // Once for each row.
  // Memory would rest while the row is computed. With this, norms of 16 bits
  // take 0.75 to 1.0 times as long. Float gains nothing, and with two inputs it
  // takes 1.1 times as long.
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

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_ROWS_CPU_STORE_ROWS_H_
