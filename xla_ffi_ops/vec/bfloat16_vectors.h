// SPDX-License-Identifier: Apache-2.0
// Converts bfloat16 to float and back, in registers.
#ifndef XLA_FFI_OPS_VEC_BFLOAT16_VECTORS_H_
#define XLA_FFI_OPS_VEC_BFLOAT16_VECTORS_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/shuffles.h"
#include "xla_ffi_ops/vec/vec.h"
#include "xla_ffi_ops/vec/x86.h"

namespace xla_ffi_ops::internal {

// n numbers of 16 bits, in a register of at least 16 bytes.
template <int n, typename T = int16_t>
using Halves = Vec<T, std::max(n, 8)>;

// x with a zero before each number.
template <int n, int... i>
XLA_FFI_OPS_HD void AfterZeros(const Halves<n>& x, Vec<int16_t, 2 * n>* y,
                               std::integer_sequence<int, i...>) {
  constexpr int zero = std::max(n, 8);
  *y = __builtin_shufflevector(x, Halves<n>{}, (i % 2 == 0 ? zero : i / 2)...);
}
template <int n>
XLA_FFI_OPS_HD void Widen(BFloat16, const Halves<n>& x, Vec<float, n>* y) {
  Vec<int16_t, 2 * n> parts;
  AfterZeros<n>(x, &parts, kEach<2 * n>);
  *y = (Vec<float, n>)parts;
}

// BFloat16::RoundUpper of each lane that is not NaN.
template <int n>
XLA_FFI_OPS_HD void RoundNumbers(const Vec<float, n>& x, Vec<uint32_t, n>* y) {
  const auto bits = (Vec<uint32_t, n>)x;
  *y = bits + 0x7fff + ((bits >> 16) & 1);
}
// BFloat16::RoundUpper of each lane that is.
template <int n>
XLA_FFI_OPS_HD void KeepNans(const Vec<float, n>& x, Vec<uint32_t, n>* y) {
  *y = x != x ? (Vec<uint32_t, n>)x | 0x400000 : *y;
}
// BFloat16::RoundUpper of each lane.
template <int n>
XLA_FFI_OPS_HD void RoundUpper(const Vec<float, n>& x, Vec<uint32_t, n>* y) {
  RoundNumbers<n>(x, y);
  KeepNans<n>(x, y);
}
// The upper halves of the lanes of a, and then of b.
template <int n, int... i>
XLA_FFI_OPS_HD void TakeUpper(const Vec<uint32_t, n>& a,
                              const Vec<uint32_t, n>& b, Vec<int16_t, 2 * n>* y,
                              std::integer_sequence<int, i...>) {
  using Parts = Vec<int16_t, 2 * n>;
  *y = __builtin_shufflevector((Parts)a, (Parts)b, (2 * i + 1)...);
}

// Whether a lane may be NaN. To compare two vectors at once takes less time
// than to keep the NaNs of both.
template <int n>
XLA_FFI_OPS_HD bool MayHaveNan([[maybe_unused]] const Vec<float, n>& a,
                               [[maybe_unused]] const Vec<float, n>& b) {
#ifdef XLA_FFI_OPS_X86
  if constexpr (n == 8 || n == 16) return x86::HasNan(a, b);
#endif
  return true;
}

// Rounds the lanes of a, and then of b, to bfloat16.
template <int level, int n>
XLA_FFI_OPS_HD void NarrowPair(const Vec<float, n>& a, const Vec<float, n>& b,
                               Vec<int16_t, 2 * n>* y) {
#ifdef XLA_FFI_OPS_X86
  if constexpr (level == 4 && n == 16) {
    if (x86::NarrowBFloat16(a, b, y)) return;
  }
#endif
  Vec<uint32_t, n> bits[2];
  RoundNumbers<n>(a, &bits[0]);
  RoundNumbers<n>(b, &bits[1]);
  if (MayHaveNan<n>(a, b)) {
    KeepNans<n>(a, &bits[0]);
    KeepNans<n>(b, &bits[1]);
  }
  TakeUpper<n>(bits[0], bits[1], y, kEach<2 * n>);
}

template <int n>
XLA_FFI_OPS_HD void Narrow(BFloat16, const Vec<float, n>& x, Halves<n>* y) {
  Vec<uint32_t, n> bits;
  RoundUpper<n>(x, &bits);
  if constexpr (n == 4) {
    TakeUpper<4>(bits, bits, y, kEach<8>);
  } else {
    Vec<uint32_t, n / 2> low, high;
    Cut<uint32_t, n>(bits, &low, &high, kEach<n / 2>);
    TakeUpper<n / 2>(low, high, y, kEach<n>);
  }
}

// Of two neighbors, the second one has the upper half of 32 bits, as in a
// float.
template <int n>
XLA_FFI_OPS_HD void SplitPairs(const Vec<int32_t, n>& pairs,
                               Vec<float, n>* even, Vec<float, n>* odd) {
  *even = (Vec<float, n>)(pairs << 16);
  *odd = (Vec<float, n>)(pairs & -0x10000);
}
template <int n>
XLA_FFI_OPS_HD void JoinPairs(const Vec<float, n>& even,
                              const Vec<float, n>& odd,
                              Vec<int32_t, n>* pairs) {
  Vec<uint32_t, n> rounded[2];
  RoundUpper<n>(even, &rounded[0]);
  RoundUpper<n>(odd, &rounded[1]);
  *pairs = (Vec<int32_t, n>)(rounded[0] >> 16 | (rounded[1] & -0x10000u));
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_VEC_BFLOAT16_VECTORS_H_
