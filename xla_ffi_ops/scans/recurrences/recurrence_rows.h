// SPDX-License-Identifier: Apache-2.0
// Linear recurrences along contiguous rows: a vector has the same step of
// several rows. Squares of elements are transposed in registers.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_ROWS_H_
#define XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/scans/recurrences/recurrence.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_steps.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/lanes/transpose_lanes.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops {
namespace internal {

// Steps of some rows. `a` and `b` point to the factors and terms of each row,
// and `h` to its results.
template <typename E>
struct RowSteps {
  static constexpr int kLanes = kRecurrenceLanes<E>;

  // Computes the step at `at` of one row.
  XLA_FFI_OPS_HD void One(int row, int64_t at) {
    state[row] = MultiplyAdd(a[row][at], state[row], b[row][at]);
    h[row][at] = state[row];
  }

  // Computes kLanes steps of all rows, from `at` on.
  template <bool kReverse>
  XLA_FFI_OPS_HD void Square(int64_t at) {
    using V = Vec<E, kLanes>;
    V factors[kLanes], terms[kLanes], last;
#pragma GCC unroll 16
    for (int r = 0; r < kLanes; ++r) {
      Load<E, kLanes>(a[r] + at, &factors[r]);
      Load<E, kLanes>(b[r] + at, &terms[r]);
    }
    TransposeLanes<E, kLanes>(factors);
    TransposeLanes<E, kLanes>(terms);
    Load<E, kLanes>(state, &last);
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      const int step = kReverse ? kLanes - 1 - i : i;
      last = factors[step] * last + terms[step];
      terms[step] = last;
    }
    Store<E, kLanes>(last, state);
    TransposeLanes<E, kLanes>(terms);
#pragma GCC unroll 16
    for (int r = 0; r < kLanes; ++r) Store<E, kLanes>(terms[r], h[r] + at);
  }

  // Computes n steps of `rows` rows. Others have to be copies of one of these.
  void Run(int64_t n, int rows) {
    AtCpuLevel([this, n, rows]() XLA_FFI_OPS_INLINED {
      int64_t done = 0;
      if constexpr (kLanes > 1) {
        for (; done + kLanes <= n; done += kLanes) {
          if (reverse) {
            Square<true>(n - kLanes - done);
          } else {
            Square<false>(done);
          }
        }
      }
      for (int r = 0; r < rows; ++r) {
        for (int64_t i = done; i < n; ++i) One(r, reverse ? n - 1 - i : i);
      }
    });
  }

  bool reverse;
  const E* a[kLanes];
  const E* b[kLanes];
  E* h[kLanes];
  E state[kLanes] = {};
};

// The rows of a call that are computed at once: those from `begin` on, and then
// copies of the first one.
template <typename Call>
class RowGroup {
  using T = typename Call::Type;
  using E = typename Numbers<T>::Element;
  static constexpr int kLanes = RowSteps<E>::kLanes;

 public:
  RowGroup(const Call& call, int64_t begin, int rows)
      : call_(call), begin_(begin), rows_(rows) {
    steps_.reverse = call.reverse;
    for (int r = 0; r < kLanes; ++r) steps_.state[r] = call.Start(Row(r));
  }

  void Run() {
    if (call_.shifted) First();
    // The other steps: where they are, and where their factors are from there.
    const int64_t n = call_.n - call_.shifted;
    const int64_t begin = call_.reverse ? 0 : call_.shifted;
    const int64_t shift = call_.At(0) - call_.At(call_.shifted);
    if constexpr (std::is_same_v<Call, Recurrence<E>>) {
      for (int r = 0; r < kLanes; ++r) {
        steps_.a[r] = call_.a.Row(Row(r)) + begin + shift;
        steps_.b[r] = call_.b.Row(Row(r)) + begin;
        steps_.h[r] = call_.Row(Row(r)) + begin;
      }
      steps_.Run(n, rows_);
    } else {
      for (int64_t done = 0; done < n; done += kPiece) {
        const int64_t count = std::min(kPiece, n - done);
        InCopies(begin + (call_.reverse ? n - done - count : done), shift,
                 count);
      }
    }
  }

 private:
  static constexpr int64_t kPiece = 256;  // of all rows fit the fastest cache

  int64_t Row(int r) const { return begin_ + (r < rows_ ? r : 0); }

  // The first step, with the factor 1.
  void First() {
    const int64_t at = call_.At(0);
    for (int r = 0; r < kLanes; ++r) {
      steps_.state[r] += static_cast<E>(call_.b.Row(Row(r))[at]);
      call_.Row(Row(r))[at] = static_cast<T>(steps_.state[r]);
    }
  }

  // Computes `count` steps from `at` on, of numbers that are loaded.
  void InCopies(int64_t at, int64_t shift, int64_t count) {
    RecurrenceNumbers<E, kPiece> numbers[kLanes];
    const int64_t ahead = at + (call_.reverse ? -count : count);
    for (int r = 0; r < kLanes; ++r) {
      const int copied = r < rows_ ? r : 0;
      if (r < rows_) {
        Fetch<false>(call_.a.Row(Row(r)) + ahead, count);
        Fetch<false>(call_.b.Row(Row(r)) + ahead, count);
        numbers[r].Load(call_, {Row(r), at, count, 0, 1}, shift);
      }
      steps_.a[r] = numbers[copied].factors;
      steps_.b[r] = numbers[copied].terms;
      steps_.h[r] = numbers[copied].terms;
    }
    steps_.Run(count, rows_);
    for (int r = 0; r < rows_; ++r) {
      T* const h = call_.Row(Row(r));
      Fetch<true>(h + ahead, count);
      Numbers<T>::From(steps_.h[r], h + at, count);
    }
  }

  const Call& call_;
  const int64_t begin_;
  const int rows_;
  RowSteps<E> steps_;
};

// Rows of few steps, one by one.
template <typename Call>
void ShortRows(const Call& call, int64_t begin, int64_t end) {
  using T = typename Call::Type;
  using E = typename Numbers<T>::Element;
  AtCpuLevel([&call, begin, end]() XLA_FFI_OPS_INLINED {
    for (int64_t row = begin; row < end; ++row) {
      T* const h = call.Row(row);
      E state = call.Start(row), factor = 1;
      for (int64_t i = 0; i < call.n; ++i) {
        const int64_t at = call.At(i);
        E own, term;
        LoadOne(call, row, at, &own, &term);
        if (!call.shifted) factor = own;
        state = MultiplyAdd(factor, state, term);
        h[at] = static_cast<T>(state);
        factor = own;
      }
    }
  });
}

}  // namespace internal

template <typename T>
int64_t RecurrenceRowsAtOnce() {
  return internal::RowSteps<typename internal::Numbers<T>::Element>::kLanes;
}

template <typename Call>
void RunRecurrenceRows(const Call& call, int64_t begin, int64_t end) {
  const int64_t at_once = RecurrenceRowsAtOnce<typename Call::Type>();
  if (call.n < 2 * at_once) return internal::ShortRows(call, begin, end);
  for (int64_t next; begin < end; begin = next) {
    next = std::min(end, begin + at_once);
    internal::RowGroup<Call>(call, begin, static_cast<int>(next - begin)).Run();
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_ROWS_H_
