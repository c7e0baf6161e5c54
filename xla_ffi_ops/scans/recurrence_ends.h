// SPDX-License-Identifier: Apache-2.0
// The ends of recurrences: see RecurrenceEnds.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCE_ENDS_H_
#define XLA_FFI_OPS_SCANS_RECURRENCE_ENDS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/scans/recurrence.h"
#include "xla_ffi_ops/scans/recurrence_steps.h"
#include "xla_ffi_ops/scans/transpose_lanes.h"

namespace xla_ffi_ops {
namespace internal {

// Moves the exponent of m to e, so that m is at least 0.5 and less than 1.
// Zeros, infinities and NaN keep theirs.
XLA_FFI_OPS_HD void MoveExponent(double* m, int64_t* e) {
  constexpr int64_t kField = int64_t{0x7ff} << 52, kOne = int64_t{1022} << 52;
  int64_t bits;
  std::memcpy(&bits, m, sizeof(bits));
  const int64_t own = bits & kField;
  const int64_t moved = (own == 0 || own == kField) ? 0 : own - kOne;
  bits -= moved;
  // It has at most 12 bits: in 32, they can be shifted by vectors.
  *e += static_cast<int32_t>(moved >> 32) >> 20;
  std::memcpy(m, &bits, sizeof(bits));
}

// The numbers m, e and B of a piece.
struct RecurrenceEnd {
  double m = 1;
  int64_t e = 0;
  double b = 0;

  // Adds a piece behind this one.
  void Append(const RecurrenceEnd& x) {
    m *= x.m;
    e += x.e;
    MoveExponent(&m, &e);
    const int64_t power = std::clamp<int64_t>(x.e, -5000, 5000);
    b = std::ldexp(x.m * b, static_cast<int>(power)) + x.b;
  }
};

// Those of up to kMost strands: columns, or parts of rows.
template <typename E, int64_t kMost>
struct StrandEnds {
  double m[kMost];
  int64_t e[kMost];
  E b[kMost];

  void Clear(int64_t n) {
    std::fill_n(m, n, 1.0);
    std::fill_n(e, n, int64_t{0});
    std::fill_n(b, n, E(0));
  }

  RecurrenceEnd of(int64_t i) const {
    RecurrenceEnd end{m[i], e[i], static_cast<double>(b[i])};
    MoveExponent(&end.m, &end.e);
    return end;
  }
};

// The steps of a group: so many factors of 32 bits and fewer are at most 2^768,
// or 2^-894.
template <typename E>
inline constexpr int64_t kEndGroup = sizeof(E) < sizeof(double) ? 6 : 1;

// Goes on for kSteps steps of n strands. Where `shifted`, B is what the last
// step passes on: its factor is applied. Returns whether each m is what it may
// be before a group: then all products in one are normal numbers.
template <int64_t kSteps, bool kShifted, typename E, int64_t kMost>
XLA_FFI_OPS_HD bool TryGroup(const E* a, const E* b, int64_t stride, int64_t n,
                             StrandEnds<E, kMost>& ends) {
  constexpr int64_t kLow = int64_t{1023 - 100} << 52;
  constexpr int64_t kHigh = int64_t{1023 + 100} << 52;
  int64_t out = 0;  // negative if some m is not
#pragma GCC unroll 1
  XLA_FFI_OPS_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) {
    E h = ends.b[j];
    double product = ends.m[j];
#pragma GCC unroll 8
    for (int64_t i = 0; i < kSteps; ++i) {
      const E factor = a[i * stride + j], term = b[i * stride + j];
      h = kShifted ? factor * (h + term) : factor * h + term;
      product *= factor;
      // One check for up to 8 factors of 32 bits: what is not normal after 7 or
      // 8 of them is out of range after the last.
      if (kEndGroup<E> > 1 && i + 1 < kSteps) continue;
      int64_t bits;
      std::memcpy(&bits, &product, sizeof(bits));
      bits &= int64_t{0x7ff} << 52;
      out |= (bits - kLow) | (kHigh - bits);
    }
    ends.b[j] = h;
    ends.m[j] = product;
  }
  return out >= 0;
}

template <int64_t kSteps, bool kShifted, typename E, int64_t kMost>
XLA_FFI_OPS_HD void AddGroup(const E* a, const E* b, int64_t stride, int64_t n,
                             StrandEnds<E, kMost>& ends) {
  static_assert(kSteps <= kEndGroup<E>);
  if (TryGroup<kSteps, kShifted>(a, b, stride, n, ends)) return;
  XLA_FFI_OPS_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) MoveExponent(ends.m + j, ends.e + j);
}

template <bool kShifted, typename E, int64_t kMost>
XLA_FFI_OPS_HD void AddSteps(const E* a, const E* b, int64_t stride,
                             int64_t steps, int64_t n,
                             StrandEnds<E, kMost>& ends) {
  constexpr int64_t kGroup = kEndGroup<E>;
  int64_t i = 0;
  for (; i + kGroup <= steps; i += kGroup) {
    AddGroup<kGroup, kShifted>(a + i * stride, b + i * stride, stride, n, ends);
  }
  for (; i < steps; ++i) {
    AddGroup<1, kShifted>(a + i * stride, b + i * stride, stride, n, ends);
  }
}

template <typename E, int64_t kMost>
XLA_FFI_OPS_HD void AddSteps(const E* a, const E* b, int64_t stride,
                             int64_t steps, int64_t n, bool shifted,
                             StrandEnds<E, kMost>& ends) {
  shifted ? AddSteps<true>(a, b, stride, steps, n, ends)
          : AddSteps<false>(a, b, stride, steps, n, ends);
}

// Goes on for as many steps as there are strands, from `at` on: a square, that
// is transposed.
template <bool kReverse, bool kShifted, typename E>
XLA_FFI_OPS_HD void AddSquare(const E* const* a, const E* const* b, int64_t at,
                              StrandEnds<E, kRecurrenceLanes<E>>& ends) {
  constexpr int kSize = kRecurrenceLanes<E>;
  Vec<E, kSize> factors[kSize], terms[kSize];
  E lanes[2][kSize * kSize];
#pragma GCC unroll 8
  for (int s = 0; s < kSize; ++s) {
    Load<E, kSize>(a[s] + at, factors + s);
    Load<E, kSize>(b[s] + at, terms + s);
  }
  TransposeLanes<E, kSize>(factors);
  TransposeLanes<E, kSize>(terms);
#pragma GCC unroll 8
  for (int i = 0; i < kSize; ++i) {
    const int step = kReverse ? kSize - 1 - i : i;
    Store<E, kSize>(factors[step], lanes[0] + i * kSize);
    Store<E, kSize>(terms[step], lanes[1] + i * kSize);
  }
  const auto before = ends;
  if (TryGroup<kSize, kShifted>(lanes[0], lanes[1], kSize, kSize, ends)) return;
  ends = before;
  AddSteps<kShifted, E>(lanes[0], lanes[1], kSize, kSize, kSize, ends);
}

template <bool kReverse, bool kShifted, typename E>
XLA_FFI_OPS_HD void AddRows(const E* const* a, const E* const* b, int64_t n,
                            StrandEnds<E, kRecurrenceLanes<E>>& ends) {
  constexpr int kSize = kRecurrenceLanes<E>;
  int64_t i = 0;
  for (; i + kSize <= n; i += kSize) {
    AddSquare<kReverse, kShifted>(a, b, kReverse ? n - kSize - i : i, ends);
  }
  for (; i < n; ++i) {
    E factors[kSize], terms[kSize];
    for (int s = 0; s < kSize; ++s) {
      factors[s] = a[s][kReverse ? n - 1 - i : i];
      terms[s] = b[s][kReverse ? n - 1 - i : i];
    }
    AddGroup<1, kShifted>(factors, terms, 0, kSize, ends);
  }
}

// Goes on for n steps of rows.
template <typename E>
XLA_FFI_OPS_HD void AddRows(const E* const* a, const E* const* b, int64_t n,
                            bool reverse, bool shifted,
                            StrandEnds<E, kRecurrenceLanes<E>>& ends) {
  if (reverse) {
    shifted ? AddRows<true, true>(a, b, n, ends)
            : AddRows<true, false>(a, b, n, ends);
  } else {
    shifted ? AddRows<false, true>(a, b, n, ends)
            : AddRows<false, false>(a, b, n, ends);
  }
}

template <typename T>
void Set(const RecurrenceEnds<T>& ends, int64_t i, const RecurrenceEnd& end) {
  ends.m[i] = end.m;
  ends.e[i] = end.e;
  ends.b[i] = end.b;
}

}  // namespace internal

template <typename T>
void RunRowEnds(const RecurrenceEnds<T>& ends, int64_t begin, int64_t end) {
  using E = typename internal::Numbers<T>::Element;
  constexpr int64_t kStrands = internal::kRecurrenceLanes<E>, kPiece = 128;
  const Recurrence<T>& call = ends.call;
  const int64_t parts = ends.in_parts ? kStrands : 1, rows = kStrands / parts;
  const int64_t size = call.n / parts;
  internal::StrandEnds<E, kStrands> strands;
  E spaces[2][kStrands][kPiece];
  for (int64_t row = begin; row < end; row += rows) {
    strands.Clear(kStrands);
    for (int64_t i = 0; i < size; i += kPiece) {
      const int64_t count = std::min(kPiece, size - i);
      const E* x[2][kStrands];
      for (int64_t s = 0; s < kStrands; ++s) {
        const int64_t first = s % parts * size + i;
        const internal::RecurrencePiece piece{
            std::min(end - 1, row + s / parts),
            std::min(call.At(first), call.At(first + count - 1)), count, 0, 1};
        x[0][s] = internal::Elements<kPiece>(call.a, 1, piece, spaces[0][s]);
        x[1][s] = internal::Elements<kPiece>(call.b, 1, piece, spaces[1][s]);
      }
      AtCpuLevel([&]() XLA_FFI_OPS_INLINED {
        internal::AddRows(x[0], x[1], count, call.reverse, call.shifted,
                          strands);
      });
    }
    for (int64_t r = 0; r < rows && row + r < end; ++r) {
      internal::RecurrenceEnd whole;
      for (int64_t s = 0; s < parts; ++s)
        whole.Append(strands.of(r * parts + s));
      for (int64_t i = parts * size; i < call.n; ++i) {
        E a, b;
        internal::LoadOne(call, row + r, call.At(i), &a, &b);
        whole.Append({a, 0, call.shifted ? a * b : b});
      }
      internal::Set(ends, row + r, whole);
    }
  }
}

template <typename T>
void RunColumnEnds(const RecurrenceEnds<T>& ends, int64_t row, int64_t begin,
                   int64_t end) {
  using E = typename internal::Numbers<T>::Element;
  constexpr int64_t kMost = internal::kRecurrencePiece;
  const Recurrence<T>& call = ends.call;
  const int64_t columns = call.columns;
  const bool in_place = std::is_same_v<T, E> && call.a.width == columns &&
                        call.b.width == columns;
  internal::StrandEnds<E, kMost> strands;
  E factors[kMost], terms[kMost];
  // Copies hold whole groups of steps, for any number of columns: in a group,
  // compilers round less, so that other groups would have other results.
  constexpr int64_t kGroup = internal::kEndGroup<E>;
  const int64_t widest = in_place ? kMost : kMost / 8;
  static_assert(kGroup <= 8);
  for (; begin < end; begin += widest) {
    const int64_t n = std::min(end - begin, widest);
    const int64_t most = in_place ? call.n : kMost / n / kGroup * kGroup;
    const int64_t width = in_place ? columns : n;
    strands.Clear(n);
    for (int64_t i = 0, next; i < call.n; i = next) {
      next = std::min(call.n, i + most);
      const int64_t at = std::min(call.At(i), call.At(next - 1));
      const internal::RecurrencePiece piece{row, at, next - i, begin, n};
      const auto numbers = [&](const RecurrenceOperand<T>& operand, E* space) {
        if constexpr (std::is_same_v<T, E>) {
          if (in_place) return operand.Row(row) + at * columns + begin;
        }
        return internal::Elements(operand, columns, piece, space);
      };
      const E* const a = numbers(call.a, factors);
      const E* const b = numbers(call.b, terms);
      const int64_t first = (call.At(i) - at) * width;
      const int64_t stride = call.reverse ? -width : width;
      AtCpuLevel([&]() XLA_FFI_OPS_INLINED {
        internal::AddSteps(a + first, b + first, stride, piece.steps, n,
                           call.shifted, strands);
      });
    }
    for (int64_t j = 0; j < n; ++j) {
      internal::Set(ends, row * columns + begin + j, strands.of(j));
    }
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_RECURRENCE_ENDS_H_
