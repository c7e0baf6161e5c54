// SPDX-License-Identifier: Apache-2.0
// The ends of recurrences in many columns.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_COLUMN_ENDS_H_
#define XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_COLUMN_ENDS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/scans/recurrences/recurrence.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_steps.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_strands.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/half_vectors.h"

namespace xla_ffi_ops {

template <typename T>
void RunColumnEnds(const RecurrenceEnds<T>& ends, int64_t row, int64_t begin,
                   int64_t end) {
  using E = typename internal::Numbers<T>::Element;
  constexpr int64_t kMost = internal::kRecurrencePiece;
  const Recurrence<T>& call = ends.call;
  const int64_t columns = call.columns;
  const bool in_place = internal::HasLevelOf<T>() && call.a.width == columns &&
                        call.b.width == columns;
  internal::StrandEnds<E, kMost> strands;
  const auto add = [&](const auto* a, const auto* b, int64_t width,
                       int64_t steps, int64_t n) {
    const int64_t stride = call.reverse ? -width : width;
    using X = std::decay_t<decltype(*a)>;
    AtCpuLevel<internal::kLeastLevel<X>>([&](auto level) XLA_FFI_OPS_INLINED {
      constexpr int lanes = kVectorBytes<decltype(level)::value> / 8;
      call.shifted
          ? internal::AddSteps<true, lanes>(a, b, stride, steps, n, strands)
          : internal::AddSteps<false, lanes>(a, b, stride, steps, n, strands);
    });
  };
  E factors[kMost], terms[kMost];
  // Copies hold whole groups of steps, for any number of columns: in a group,
  // compilers round less, so that other groups would have other results.
  constexpr int64_t kGroup = internal::kEndGroup<E>;
  const int64_t widest = in_place ? kMost : kMost / 8;
  static_assert(kGroup <= 8);
  for (; begin < end; begin += widest) {
    const int64_t n = std::min(end - begin, widest);
    strands.Clear(n);
    if (in_place) {
      const int64_t first = call.At(0) * columns + begin;
      add(call.a.Row(row) + first, call.b.Row(row) + first, columns, call.n, n);
    }
    const int64_t most = kMost / n / kGroup * kGroup;
    for (int64_t i = in_place ? call.n : 0, next; i < call.n; i = next) {
      next = std::min(call.n, i + most);
      const int64_t at = std::min(call.At(i), call.At(next - 1));
      const internal::RecurrencePiece piece{row, at, next - i, begin, n};
      const int64_t first = (call.At(i) - at) * n;
      add(internal::Elements(call.a, columns, piece, factors) + first,
          internal::Elements(call.b, columns, piece, terms) + first, n,
          piece.steps, n);
    }
    for (int64_t j = 0; j < n; ++j) {
      internal::Set(ends, row * columns + begin + j, strands.of(j));
    }
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_COLUMN_ENDS_H_
