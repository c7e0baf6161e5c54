// SPDX-License-Identifier: Apache-2.0
// Ends of recurrences in many strands: columns, or parts of rows. See
// RecurrenceEnds.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCE_STRANDS_H_
#define XLA_FFI_OPS_SCANS_RECURRENCE_STRANDS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/scans/half_vectors.h"
#include "xla_ffi_ops/scans/recurrence.h"
#include "xla_ffi_ops/scans/vectors.h"

namespace xla_ffi_ops::internal {

// The bits of an exponent; and those of the least and of the largest m that may
// be before a group.
inline constexpr int64_t kExponent = int64_t{0x7ff} << 52;
inline constexpr int64_t kLowExponent = int64_t{1023 - 100} << 52;
inline constexpr int64_t kHighExponent = int64_t{1023 + 100} << 52;

// Moves the exponent of m to e, so that m is at least 0.5 and less than 1.
// Zeros, infinities and NaN keep theirs.
XLA_FFI_OPS_HD void MoveExponent(double* m, int64_t* e) {
  constexpr int64_t kOne = int64_t{1022} << 52;
  int64_t bits;
  std::memcpy(&bits, m, sizeof(bits));
  const int64_t own = bits & kExponent;
  const int64_t moved = (own == 0 || own == kExponent) ? 0 : own - kOne;
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

// Goes on for kSteps steps of as many of n strands as fill vectors, of numbers
// of 16 bits. Returns their number, and makes `out` negative if some m is out
// of range.
template <int64_t kSteps, bool kShifted, int lanes, typename T, int64_t kMost>
XLA_FFI_OPS_HD int64_t TryVectors(const T* a, const T* b, int64_t stride,
                                  int64_t n, StrandEnds<float, kMost>& ends,
                                  int64_t* out) {
  using Bits = Vec<int64_t, lanes>;
  Bits any{};
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    Vec<float, lanes> h, factor, term;
    Vec<double, lanes> product, wide;
    std::memcpy(&h, ends.b + j, sizeof(h));
    std::memcpy(&product, ends.m + j, sizeof(product));
#pragma GCC unroll 8
    for (int64_t i = 0; i < kSteps; ++i) {
      ReadOne<T, lanes>(a + i * stride + j, &factor);
      ReadOne<T, lanes>(b + i * stride + j, &term);
      h = kShifted ? factor * (h + term) : factor * h + term;
      Convert(factor, &wide);
      product *= wide;
    }
    std::memcpy(ends.b + j, &h, sizeof(h));
    std::memcpy(ends.m + j, &product, sizeof(product));
    const Bits bits = (Bits)product & kExponent;
    any |= (bits - kLowExponent) | (kHighExponent - bits);
  }
  for (int lane = 0; lane < lanes; ++lane) *out |= any[lane];
  return j;
}

// Goes on for kSteps steps of n strands. Where `shifted`, B is what the last
// step passes on: its factor is applied. Returns whether each m is what it may
// be before a group: then all products in one are normal numbers. Numbers of 16
// bits are read in vectors of so many lanes.
template <int64_t kSteps, bool kShifted, int lanes, typename T, typename E,
          int64_t kMost>
XLA_FFI_OPS_HD bool TryGroup(const T* a, const T* b, int64_t stride, int64_t n,
                             StrandEnds<E, kMost>& ends) {
  int64_t out = 0;  // negative if some m is not
  int64_t done = 0;
  if constexpr (kIsHalf<T> && lanes >= 4) {
    done = TryVectors<kSteps, kShifted, lanes>(a, b, stride, n, ends, &out);
  }
#pragma GCC unroll 1
  XLA_FFI_OPS_INDEPENDENT
  for (int64_t j = done; j < n; ++j) {
    E h = ends.b[j];
    double product = ends.m[j];
#pragma GCC unroll 8
    for (int64_t i = 0; i < kSteps; ++i) {
      const E factor = static_cast<E>(a[i * stride + j]);
      const E term = static_cast<E>(b[i * stride + j]);
      h = kShifted ? factor * (h + term) : factor * h + term;
      product *= factor;
      // One check for up to 8 factors of 32 bits: what is not normal after 7 or
      // 8 of them is out of range after the last.
      if (kEndGroup<E> > 1 && i + 1 < kSteps) continue;
      int64_t bits;
      std::memcpy(&bits, &product, sizeof(bits));
      bits &= kExponent;
      out |= (bits - kLowExponent) | (kHighExponent - bits);
    }
    ends.b[j] = h;
    ends.m[j] = product;
  }
  return out >= 0;
}

template <int64_t kSteps, bool kShifted, int lanes, typename T, typename E,
          int64_t kMost>
XLA_FFI_OPS_HD void AddGroup(const T* a, const T* b, int64_t stride, int64_t n,
                             StrandEnds<E, kMost>& ends) {
  static_assert(kSteps <= kEndGroup<E>);
  if (TryGroup<kSteps, kShifted, lanes>(a, b, stride, n, ends)) return;
  XLA_FFI_OPS_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) MoveExponent(ends.m + j, ends.e + j);
}

// Likewise for any number of steps.
template <bool kShifted, int lanes, typename T, typename E, int64_t kMost>
XLA_FFI_OPS_HD void AddSteps(const T* a, const T* b, int64_t stride,
                             int64_t steps, int64_t n,
                             StrandEnds<E, kMost>& ends) {
  constexpr int64_t kGroup = kEndGroup<E>;
  int64_t i = 0;
  for (; i + kGroup <= steps; i += kGroup) {
    AddGroup<kGroup, kShifted, lanes>(a + i * stride, b + i * stride, stride, n,
                                      ends);
  }
  for (; i < steps; ++i) {
    AddGroup<1, kShifted, lanes>(a + i * stride, b + i * stride, stride, n,
                                 ends);
  }
}

template <typename T>
void Set(const RecurrenceEnds<T>& ends, int64_t i, const RecurrenceEnd& end) {
  ends.m[i] = end.m;
  ends.e[i] = end.e;
  ends.b[i] = end.b;
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_RECURRENCE_STRANDS_H_
