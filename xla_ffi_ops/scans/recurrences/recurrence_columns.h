// SPDX-License-Identifier: Apache-2.0
// Linear recurrences in many columns: with numbers where they are, or with
// pieces that are copied and converted.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_COLUMNS_H_
#define XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_COLUMNS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/scans/recurrences/column_steps.h"
#include "xla_ffi_ops/scans/recurrences/recurrence.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_steps.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/half_vectors.h"

namespace xla_ffi_ops {
namespace internal {

// Computes steps [first, call.n) of n columns from `begin` on, with numbers
// where they are; or returns false if that cannot be.
template <typename Call, typename E>
bool ComputeInPlace(const Call& call, int64_t row, int64_t first, int64_t begin,
                    int64_t n, E* state) {
  using T = typename Call::Type;
  constexpr bool kAdvantages = std::is_same_v<Call, Advantages<T>>;
  static_assert(!kAdvantages ||
                !kIs16BitFloat<T>);  // ColumnSteps::Line has none.
  // Halves whose columns fill no vectors of 4 are better converted in pieces.
  if (kIs16BitFloat<T> && (!HasLevelOf<T>() || n % 4 != 0)) return false;
  const int64_t columns = call.columns, width = call.a.width;
  if (call.b.width != columns || (width != 1 && width != columns)) return false;
  if (first == call.n) return true;
  const int64_t sign = call.reverse ? -1 : 1;
  const int64_t at = call.At(first) * columns + begin;
  ColumnSteps<T, kAdvantages> steps{
      call.n - first,
      n,
      call.a.Row(row) + call.At(0) * width + (width == 1 ? 0 : begin),
      sign * width,
      width == 1,
      call.b.Row(row) + at,
      call.Row(row) + at,
      sign * columns};
  if constexpr (kAdvantages) {
    if (call.values.width != columns || call.lambda.width != 1) return false;
    steps.v = call.values.Row(row) + at;
    steps.next = columns;
    steps.lambda = *call.lambda.Row(row);
  }
  steps.Run(state);
  return true;
}

// Computes steps [first, call.n) of n columns from `begin` on in pieces.
template <typename Call, typename E>
void ComputePieces(const Call& call, int64_t row, int64_t first, int64_t begin,
                   int64_t n, E* state) {
  using T = typename Call::Type;
  const int64_t columns = call.columns;
  const int64_t most = n == columns ? kRecurrencePiece / n : 1;
  const int64_t shift = call.At(0) - call.At(call.shifted);
  RecurrenceNumbers<E> numbers;
  for (int64_t i = first, next; i < call.n; i = next) {
    next = std::min(call.n, i + most);
    const int64_t at = std::min(call.At(i), call.At(next - 1));
    const RecurrencePiece piece{row, at, next - i, begin, n};
    numbers.Load(call, piece, shift);
    // Where the first step is in the piece, and how far the next one.
    const int64_t start = (call.At(i) - at) * n;
    const int64_t stride = call.reverse ? -n : n;
    E* const h = numbers.terms;
    ColumnSteps<E, false>{piece.steps, n,     numbers.factors + start,
                          stride,      false, numbers.terms + start,
                          h + start,   stride}
        .Run(state);
    Numbers<T>::From(h, call.Row(row) + at * columns + begin, piece.size());
  }
}

}  // namespace internal

template <typename Call>
void RunRecurrenceColumns(const Call& call, int64_t row, int64_t begin,
                          int64_t end) {
  using T = typename Call::Type;
  using E = typename internal::Numbers<T>::Element;
  constexpr int64_t kMost = internal::kRecurrencePiece;
  for (; begin < end; begin += kMost) {
    const int64_t n = std::min(end - begin, kMost);
    E state[kMost], space[kMost];
    const auto start_from = [&](const auto& h0) {
      std::copy_n(
          internal::Elements(h0, call.columns, {row, 0, 1, begin, n}, space), n,
          state);
    };
    if (call.wide_h0.data != nullptr) {
      start_from(call.wide_h0);
    } else if (call.h0.data != nullptr) {
      start_from(call.h0);
    } else {
      std::fill_n(state, n, E(0));
    }
    if (call.shifted) {
      const E one = 1;
      const int64_t at = call.At(0);
      const E* const terms = internal::Elements(call.b, call.columns,
                                                {row, at, 1, begin, n}, space);
      internal::ColumnSteps<E, false>{1, n, &one, 0, true, terms, space, 0}.Run(
          state);
      internal::Numbers<T>::From(state,
                                 call.Row(row) + at * call.columns + begin, n);
    }
    const int64_t first = call.shifted;
    if (internal::ComputeInPlace(call, row, first, begin, n, state)) {
      continue;
    }
    internal::ComputePieces(call, row, first, begin, n, state);
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_COLUMNS_H_
