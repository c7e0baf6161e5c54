// SPDX-License-Identifier: Apache-2.0
// The ends of recurrences in rows of one column.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_ROW_ENDS_H_
#define XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_ROW_ENDS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/scans/recurrences/recurrence.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_steps.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_strands.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/half_vectors.h"
#include "xla_ffi_ops/vec/lanes/transpose_lanes.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops {
namespace internal {

// Goes on for as many steps as there are strands, from `at` on: a square, that
// is transposed. X is E, or has 16 bits. `lanes` are those of a vector of
// double.
template <int lanes, bool kReverse, bool kShifted, typename X, typename E>
XLA_FFI_OPS_HD void AddSquare(const X* const* a, const X* const* b, int64_t at,
                              StrandEnds<E, kRecurrenceLanes<E>>& ends) {
  constexpr int kSize = kRecurrenceLanes<E>;
  Vec<E, kSize> factors[kSize], terms[kSize];
#pragma GCC unroll 8
  for (int s = 0; s < kSize; ++s) {
    ReadOne<X, kSize>(a[s] + at, factors + s);
    ReadOne<X, kSize>(b[s] + at, terms + s);
  }
  TransposeLanes<E, kSize>(factors);
  TransposeLanes<E, kSize>(terms);
  const auto at_step = [](int64_t i) XLA_FFI_OPS_INLINED {
    return kReverse ? kSize - 1 - i : i;
  };
  if constexpr (lanes >= 4) {
    const auto before = ends;
    Vec<int64_t, lanes> out{};
#pragma GCC unroll 2
    for (int64_t j = 0; j < kSize; j += lanes) {
      const auto read = [&](int64_t i, auto* factor, auto* term)
                            XLA_FFI_OPS_INLINED {
                              TakeLanes(factors[at_step(i)], j, factor);
                              TakeLanes(terms[at_step(i)], j, term);
                            };
      TryLanes<kSize, kShifted, lanes>(read, j, ends, &out);
    }
    if (!IsNegative<lanes>(out)) return;
    ends = before;
  }
  E steps[2][kSize * kSize];
#pragma GCC unroll 8
  for (int64_t i = 0; i < kSize; ++i) {
    Store<E, kSize>(factors[at_step(i)], steps[0] + i * kSize);
    Store<E, kSize>(terms[at_step(i)], steps[1] + i * kSize);
  }
  AddSteps<kShifted, 1>(steps[0], steps[1], kSize, kSize, kSize, ends);
}

template <int lanes, bool kReverse, bool kShifted, typename X, typename E>
XLA_FFI_OPS_HD void AddRows(const X* const* a, const X* const* b, int64_t n,
                            StrandEnds<E, kRecurrenceLanes<E>>& ends) {
  constexpr int kSize = kRecurrenceLanes<E>;
  int64_t i = 0;
  for (; i + kSize <= n; i += kSize) {
    AddSquare<lanes, kReverse, kShifted>(a, b, kReverse ? n - kSize - i : i,
                                         ends);
  }
  for (; i < n; ++i) {
    E factors[kSize], terms[kSize];
    for (int s = 0; s < kSize; ++s) {
      factors[s] = static_cast<E>(a[s][kReverse ? n - 1 - i : i]);
      terms[s] = static_cast<E>(b[s][kReverse ? n - 1 - i : i]);
    }
    AddGroup<1, kShifted, 1>(factors, terms, 0, kSize, ends);
  }
}

// Goes on for n steps of rows.
template <int lanes, typename X, typename E>
XLA_FFI_OPS_HD void AddRows(const X* const* a, const X* const* b, int64_t n,
                            bool reverse, bool shifted,
                            StrandEnds<E, kRecurrenceLanes<E>>& ends) {
  if (reverse) {
    shifted ? AddRows<lanes, true, true>(a, b, n, ends)
            : AddRows<lanes, true, false>(a, b, n, ends);
  } else {
    shifted ? AddRows<lanes, false, true>(a, b, n, ends)
            : AddRows<lanes, false, false>(a, b, n, ends);
  }
}

// RunRowEnds, with numbers where they are, if X is T, or converted.
template <typename X, typename T>
void RowEndsOf(const RecurrenceEnds<T>& ends, int64_t begin, int64_t end) {
  using E = ElementOf<T>;
  constexpr int64_t kStrands = kRecurrenceLanes<E>, kPiece = 128;
  constexpr bool kInPlace = std::is_same_v<X, T>;
  const Recurrence<T>& call = ends.call;
  const int64_t parts = ends.in_parts ? kStrands : 1, rows = kStrands / parts;
  const int64_t size = call.n / parts;
  StrandEnds<E, kStrands> strands;
  X spaces[2][kInPlace ? 1 : kStrands][kPiece];
  for (int64_t row = begin; row < end; row += rows) {
    strands.Clear(kStrands);
    for (int64_t i = 0; i < size; i += kPiece) {
      const int64_t count = std::min(kPiece, size - i);
      const X* x[2][kStrands];
      for (int64_t s = 0; s < kStrands; ++s) {
        const int64_t first = s % parts * size + i;
        const int64_t own = std::min(end - 1, row + s / parts);
        const int64_t at = std::min(call.At(first), call.At(first + count - 1));
        for (int k = 0; k < 2; ++k) {
          const T* const from = (k == 0 ? call.a : call.b).Row(own) + at;
          Fetch<false>(from + (call.reverse ? -count : count), count);
          if constexpr (kInPlace) {
            x[k][s] = from;
          } else {
            Numbers<T>::To(from, spaces[k][s], count);
            x[k][s] = spaces[k][s];
          }
        }
      }
      const auto add = [&](auto level) XLA_FFI_OPS_INLINED {
        constexpr int kLanes =
            level < kWideLevel
                ? 1
                : std::min<int>(kStrands, kVectorBytes<level> / 8);
        AddRows<kLanes>(x[0], x[1], count, call.reverse, call.shifted, strands);
      };
      AtCpuLevel<kLeastLevel<X>>(add);
    }
    for (int64_t r = 0; r < rows && row + r < end; ++r) {
      RecurrenceEnd whole;
      for (int64_t s = 0; s < parts; ++s) {
        whole.Append(strands.of(r * parts + s));
      }
      for (int64_t i = parts * size; i < call.n; ++i) {
        E a, b;
        LoadOne(call, row + r, call.At(i), &a, &b);
        whole.Append({a, 0, call.shifted ? a * b : b});
      }
      Set(ends, row + r, whole);
    }
  }
}

}  // namespace internal

template <typename T>
void RunRowEnds(const RecurrenceEnds<T>& ends, int64_t begin, int64_t end) {
  if (internal::HasLevelOf<T>()) {
    internal::RowEndsOf<T>(ends, begin, end);
  } else if constexpr (kIs16BitFloat<T>) {
    internal::RowEndsOf<internal::ElementOf<T>>(ends, begin, end);
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_ROW_ENDS_H_
