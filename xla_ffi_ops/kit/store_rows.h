// SPDX-License-Identifier: Apache-2.0
// Stores what a formula (formula.h) computes from a row on the CPU.
//
// The code is shaped by what g++ 12 vectorizes.
#ifndef XLA_FFI_OPS_KIT_STORE_ROWS_H_
#define XLA_FFI_OPS_KIT_STORE_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/formula.h"
#include "xla_ffi_ops/kit/outputs.h"
#include "xla_ffi_ops/kit/row_elements.h"
#include "xla_ffi_ops/kit/row_pieces.h"
#include "xla_ffi_ops/kit/run_formula.h"
#include "xla_ffi_ops/kit/store_vector.h"

namespace xla_ffi_ops::internal {

// Stores elements [begin, end), which are computed from the pieces x, and adds
// to the sums over rows.
template <int level, bool nontemporal, typename Acc, typename F, typename T,
          int m, typename... X>
XLA_FFI_OPS_HD void StorePiece(const F& f, const typename F::Row& row,
                               int64_t begin, int64_t end, T* y, T* z,
                               const Outputs<Acc, m>& sums, X... x) {
  const auto store_block = [=](int64_t i, auto count) XLA_FFI_OPS_INLINED {
    constexpr int size = decltype(count)::value;
    const int64_t j = begin + i;
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
  ForBlocks<kBlock<Acc>>(end - begin, store_block);
}

// Whether results may go past the caches. With 16 bits that pays where stores
// are half of the traffic; elsewhere, the code for both ways takes 1.1 to 1.3
// times as long as that for one. So it does with StoreAdded. Stage runs float
// and double at level 3.
template <int level, typename F, typename T>
inline constexpr bool kMayStorePast =
    !kStoresAdded<F> &&
    (sizeof(T) == 2 ? level >= 3 && F::kInputs <= F::kOutputs : level == 3);

// Stores row i, and adds what it has for the sums over rows to `columns`.
template <int level, typename F, typename T, typename Acc, int m,
          typename... In>
XLA_FFI_OPS_HD void StoreRow(
    const F& f, const typename F::Row& row, int64_t i, const RowPart& part,
    const Operands<OutputRows<T>, F::kOutputs>& outputs,
    const Outputs<Acc, m>& columns, In&... in) {
  constexpr int n = F::kOutputs;
  if (!part.Has(F::kPasses)) return;
  if (part.begin == 0) f.Save(i, row);  // Once for each row.
  for (int64_t first = part.begin; first < part.end; first += kPiece<Acc>) {
    const int64_t count = std::min(kPiece<Acc>, part.end - first);
    T* const y = outputs[0].Piece(i, first);
    T* const z = outputs[n - 1].Piece(i, first);
    const auto store = [&](auto nontemporal, int64_t begin,
                           int64_t end) XLA_FFI_OPS_INLINED {
      StorePiece<level, decltype(nontemporal)::value>(
          f, row, begin, end, y, z, columns.At(first - part.begin),
          in.Piece(i, first, count)...);
    };
    // Stage chooses so for all outputs, whose rows begin alike in a line.
    constexpr bool may = kMayStorePast<level, F, T>;
    const bool is_past = may && outputs[0].nontemporal();
    const int64_t begin = is_past ? std::min(BeforeLine(y), count) : count;
    store(std::false_type(), 0, begin);
    if constexpr (may) store(std::true_type(), begin, count);
  }
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_STORE_ROWS_H_
