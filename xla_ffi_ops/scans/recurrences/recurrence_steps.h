// SPDX-License-Identifier: Apache-2.0
// The factors and terms of some steps of a recurrence.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_STEPS_H_
#define XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_STEPS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/scans/recurrences/recurrence.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::internal {

// Vectors of 32 bytes suffice: memory is slower. Complex rows go one by one.
template <typename E>
inline constexpr int kRecurrenceLanes =
    std::is_floating_point_v<E> ? 32 / sizeof(E) : 1;

// Elements of columns that are copied and converted at a time: all that is
// needed of them fits the fastest cache.
inline constexpr int64_t kRecurrencePiece = 1024;

// Some steps of some columns of a row: `steps` from `at` on, and `n` columns
// from `begin` on.
struct RecurrencePiece {
  int64_t row, at, steps, begin, n;

  int64_t size() const { return steps * n; }
};

// Returns what an operand has there: where it is, or in `space`.
template <int64_t kMost = kRecurrencePiece, typename T, typename E>
const E* Elements(const RecurrenceOperand<T>& operand, int64_t columns,
                  const RecurrencePiece& piece, E* space) {
  const T* const x = operand.Row(piece.row) + piece.at * operand.width;
  if (operand.width == columns) {
    if (piece.n < columns && piece.steps > 1) {
      for (int64_t i = 0; i < piece.steps; ++i) {
        Numbers<T>::To(x + i * columns + piece.begin, space + i * piece.n,
                       piece.n);
      }
      return space;
    }
    if constexpr (std::is_same_v<T, E>) return x + piece.begin;
    Numbers<T>::To(x + piece.begin, space, piece.size());
    return space;
  }
  T gathered[kMost];
  for (int64_t i = 0; i < piece.steps; ++i) {
    const T* const step = x + i * operand.width;
    T* const to = gathered + i * piece.n;
    if (operand.width == 1) {
      std::fill_n(to, piece.n, *step);
    } else {
      for (int64_t j = 0; j < piece.n; ++j) {
        to[j] = step[operand.columns(piece.begin + j)];
      }
    }
  }
  Numbers<T>::To(gathered, space, piece.size());
  return space;
}

// The factor and the term of one step of a row of one column.
template <typename T, typename E>
XLA_FFI_OPS_HD void LoadOne(const Recurrence<T>& call, int64_t row, int64_t at,
                            E* factor, E* term) {
  *factor = static_cast<E>(call.a.Row(row)[at]);
  *term = static_cast<E>(call.b.Row(row)[at]);
}
template <typename T>
XLA_FFI_OPS_HD void LoadOne(const Advantages<T>& call, int64_t row, int64_t at,
                            T* factor, T* term) {
  const T d = call.a.Row(row)[at];
  const T* const v = call.values.Row(row) + at;
  *factor = d * *call.lambda.Row(row);
  *term = call.b.Row(row)[at] + d * v[1] - v[0];
}

// What a piece of at most kMost elements is computed from.
template <typename E, int64_t kMost = kRecurrencePiece>
struct RecurrenceNumbers {
  E factors[kMost], terms[kMost];

  // The factors are those of `shift` steps further on.
  template <typename T>
  void Load(const Recurrence<T>& call, RecurrencePiece piece, int64_t shift) {
    Copy(call.b, call.columns, piece, terms);
    piece.at += shift;
    Copy(call.a, call.columns, piece, factors);
  }

  template <typename T>
  void Load(const Advantages<T>& call, RecurrencePiece piece, int64_t) {
    E before[kMost], after[kMost], lambda[kMost];
    const E* const d = Elements<kMost>(call.a, call.columns, piece, factors);
    const E* const r = Elements<kMost>(call.b, call.columns, piece, terms);
    const E* const v =
        Elements<kMost>(call.values, call.columns, piece, before);
    const RecurrencePiece next{piece.row, piece.at + 1, piece.steps,
                               piece.begin, piece.n};
    const E* const w = Elements<kMost>(call.values, call.columns, next, after);
    const T* const own = call.lambda.Row(piece.row);
    for (int64_t j = 0; j < piece.size() && call.lambda.width > 1; ++j) {
      lambda[j] = own[call.lambda.columns(piece.begin + j % piece.n)];
    }
    if (call.lambda.width == 1) std::fill_n(lambda, piece.size(), *own);
    AtCpuLevel([&, size = piece.size()]() XLA_FFI_OPS_INLINED {
      XLA_FFI_OPS_INDEPENDENT
      for (int64_t i = 0; i < size; ++i) {
        terms[i] = r[i] + d[i] * w[i] - v[i];
        factors[i] = d[i] * lambda[i];
      }
    });
  }

 private:
  template <typename T>
  static void Copy(const RecurrenceOperand<T>& operand, int64_t columns,
                   const RecurrencePiece& piece, E* to) {
    const E* const x = Elements<kMost>(operand, columns, piece, to);
    if (x != to) std::copy_n(x, piece.size(), to);
  }
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_STEPS_H_
