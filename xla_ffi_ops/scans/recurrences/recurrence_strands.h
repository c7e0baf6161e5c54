// SPDX-License-Identifier: Apache-2.0
// Steps of many strands of recurrences at once: columns, or parts of rows.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_STRANDS_H_
#define XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_STRANDS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_end.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/half_vectors.h"
#include "xla_ffi_ops/vec/shuffles.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::internal {

// The steps of a group: so many factors of 32 bits and fewer are at most 2^768,
// or 2^-894.
template <typename E>
inline constexpr int64_t kEndGroup = sizeof(E) < sizeof(double) ? 6 : 1;
// One check for up to 8 such factors: what is not normal after 7 or 8 of them
// is out of range after the last.
template <typename E>
inline constexpr bool kChecksLast = kEndGroup<E> > 1;

// Goes on for kSteps steps of as many strands as there are lanes, from j on.
// read(i, &factors, &terms) reads step i. Makes lanes of `out` negative where m
// is out of range.
template <int64_t kSteps, bool kShifted, int lanes, typename E, int64_t kMost,
          typename Read>
XLA_FFI_OPS_HD void TryLanes(const Read& read, int64_t j,
                             StrandEnds<E, kMost>& ends,
                             Vec<int64_t, lanes>* out) {
  using Bits = Vec<int64_t, lanes>;
  Vec<E, lanes> h, factor, term;
  Vec<double, lanes> product, wide;
  std::memcpy(&h, ends.b + j, sizeof(h));
  std::memcpy(&product, ends.m + j, sizeof(product));
#pragma GCC unroll 8
  for (int64_t i = 0; i < kSteps; ++i) {
    read(i, &factor, &term);
    h = kShifted ? factor * (h + term) : factor * h + term;
    ConvertLanes(factor, &wide);
    product *= wide;
    if (kChecksLast<E> && i + 1 < kSteps) continue;
    const Bits bits = (Bits)product & kExponent;
    *out |= (bits - kLowExponent) | (kHighExponent - bits);
  }
  std::memcpy(ends.b + j, &h, sizeof(h));
  std::memcpy(ends.m + j, &product, sizeof(product));
}

// Takes the lanes of a shorter vector, from j on.
template <typename V, typename Part>
XLA_FFI_OPS_HD void TakeLanes(const V& v, int64_t j, Part* to) {
  const char* const from = reinterpret_cast<const char*>(&v);
  std::memcpy(to, from + j * sizeof(v[0]), sizeof(*to));
}

template <int lanes>
XLA_FFI_OPS_HD bool IsNegative(const Vec<int64_t, lanes>& v) {
  int64_t any = 0;
  for (int lane = 0; lane < lanes; ++lane) any |= v[lane];
  return any < 0;
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
  if constexpr (kIs16BitFloat<T> && lanes >= 4) {
    Vec<int64_t, lanes> any{};
    for (; done + lanes <= n; done += lanes) {
      const auto read = [&](int64_t i, auto* factor, auto* term)
                            XLA_FFI_OPS_INLINED {
                              ReadOne<T, lanes>(a + i * stride + done, factor);
                              ReadOne<T, lanes>(b + i * stride + done, term);
                            };
      TryLanes<kSteps, kShifted, lanes>(read, done, ends, &any);
    }
    if (IsNegative<lanes>(any)) out = -1;
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
      if (kChecksLast<E> && i + 1 < kSteps) continue;
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
  // One factor of 64 bits can take m out of the range of numbers: it is applied
  // again then, to what m was, without their exponents.
  constexpr bool kMayLeave = sizeof(E) == sizeof(double);
  double before[kMayLeave ? kMost : 1];
  if constexpr (kMayLeave) std::copy_n(ends.m, n, before);
  if (TryGroup<kSteps, kShifted, lanes>(a, b, stride, n, ends)) return;
  XLA_FFI_OPS_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) {
    if constexpr (kMayLeave) {
      double factor = a[j];
      MoveExponent(before + j, ends.e + j);
      MoveExponent(&factor, ends.e + j);
      ends.m[j] = before[j] * factor;
    }
    MoveExponent(ends.m + j, ends.e + j);
  }
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

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_STRANDS_H_
