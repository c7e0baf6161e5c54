// SPDX-License-Identifier: Apache-2.0
// The ends of pieces of recurrences, and of many at once. See RecurrenceEnds.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_END_H_
#define XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_END_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "xla_ffi_ops/scans/recurrences/recurrence.h"
#include "xla_ffi_ops/vec/device.h"

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

template <typename T>
void Set(const RecurrenceEnds<T>& ends, int64_t i, const RecurrenceEnd& end) {
  ends.m[i] = end.m;
  ends.e[i] = end.e;
  ends.b[i] = end.b;
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_RECURRENCES_RECURRENCE_END_H_
