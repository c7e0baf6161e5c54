// SPDX-License-Identifier: Apache-2.0
// Transposes a square of elements, in registers or in memory.
#ifndef XLA_FFI_OPS_VEC_LANES_TRANSPOSE_LANES_H_
#define XLA_FFI_OPS_VEC_LANES_TRANSPOSE_LANES_H_

#include <cstdint>
#include <utility>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/shuffles.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::internal {

// Whether the first step takes what one fast instruction does: of each 16 bytes
// of two vectors, one half of both in turn. Rows are then to be swapped.
template <int per, int units>
inline constexpr bool kInterleaves = per == 1 && units >= 4;

// Of two vectors, the blocks of `by` lanes that are at even places, or at odd
// ones, of each of them: the second row of blocks of a matrix, and the first.
template <int by, bool odd, int per, typename Units, int units, int... i>
XLA_FFI_OPS_HD void TakeBlocks(const Units& a, const Units& b, Units* to,
                               std::integer_sequence<int, i...>) {
  constexpr int size = by * per;
  constexpr bool interleaves = by == 1 && kInterleaves<per, units>;
  Shuffle<units, (interleaves ? i % 2 * units + i / 4 * 4 + odd * 2 + i % 4 / 2
                  : i / size % 2 == 0 ? i + odd * size
                                      : units + i - (1 - odd) * size)...>(a, b,
                                                                          to);
}

// In each square of 2 by 2 blocks, swaps the two that are off the diagonal; and
// then so in larger squares, up to `count` rows.
template <int by, typename T, int lanes, int count = lanes>
XLA_FFI_OPS_HD void SwapBlocks(Vec<T, lanes>* rows) {
  if constexpr (by < count) {
    constexpr int per = sizeof(T) / 4, units = lanes * per;
    using Units = Vec<int32_t, units>;
    constexpr std::make_integer_sequence<int, units> each;
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) {
      if (i & by) continue;
      const Units a = (Units)rows[i], b = (Units)rows[i + by];
      Units even, odd;
      TakeBlocks<by, false, per, Units, units>(a, b, &even, each);
      TakeBlocks<by, true, per, Units, units>(a, b, &odd, each);
      rows[i] = (Vec<T, lanes>)even;
      rows[i + by] = (Vec<T, lanes>)odd;
    }
    if constexpr (by == 2 && kInterleaves<per, units>) {
#pragma GCC unroll 4
      for (int i = 0; i < count; i += 4) std::swap(rows[i + 1], rows[i + 2]);
    }
    SwapBlocks<2 * by, T, lanes, count>(rows);
  }
}

// Lane i of row j becomes lane j of row i.
template <typename T, int lanes>
XLA_FFI_OPS_HD void TransposeLanes(Vec<T, lanes>* rows) {
  SwapBlocks<1, T, lanes>(rows);
}

// Copies a square in memory, transposed.
template <typename T, int lanes>
XLA_FFI_OPS_HD void CopySquare(const T* const* from, T* const* to) {
  Vec<T, lanes> rows[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) Load<T, lanes>(from[i], rows + i);
  TransposeLanes<T, lanes>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) Store<T, lanes>(rows[i], to[i]);
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_VEC_LANES_TRANSPOSE_LANES_H_
