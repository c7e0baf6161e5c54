// SPDX-License-Identifier: Apache-2.0
// Functions that load and store vectors (Vec), and that move and convert lanes.
//
// All functions are inlined and take vectors by reference: how a vector is
// passed by value depends on the processor that a function is compiled for.
#ifndef XLA_FFI_OPS_VEC_SHUFFLES_H_
#define XLA_FFI_OPS_VEC_SHUFFLES_H_

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/vec.h"
#include "xla_ffi_ops/vec/x86.h"

namespace xla_ffi_ops::internal {

// Lanes of 4 or 8 bytes are moved as 32-bit integers: g++ 12 moves some lanes
// of float and double one by one.
template <int units, int... from>
XLA_FFI_OPS_HD void Shuffle(const Vec<int32_t, units>& a,
                            const Vec<int32_t, units>& b,
                            Vec<int32_t, units>* to) {
#ifdef __clang__
  *to = __builtin_shufflevector(a, b, from...);
#else
  *to = __builtin_shuffle(a, b, Vec<int32_t, units>{from...});
#endif
}

// The two halves of a vector of n lanes.
template <typename T, int n, int... i>
XLA_FFI_OPS_HD void Cut(const Vec<T, n>& x, Vec<T, n / 2>* low,
                        Vec<T, n / 2>* high, std::integer_sequence<int, i...>) {
  *low = __builtin_shufflevector(x, x, i...);
  *high = __builtin_shufflevector(x, x, (n / 2 + i)...);
}

// Transposes a matrix with so many columns.
template <int columns, int n, int... i>
XLA_FFI_OPS_HD void Transpose(Vec<int32_t, n>* x,
                              std::integer_sequence<int, i...>) {
  constexpr int rows = n / columns;
  Shuffle<n, (i % rows * columns + i / rows)...>(*x, *x, x);
}
// The same for the 2 by 4 matrix in each 16 bytes, or 4 by 2.
template <int columns, int n, int... i>
XLA_FFI_OPS_HD void TransposeEach(Vec<int16_t, n>* x,
                                  std::integer_sequence<int, i...>) {
  constexpr int rows = 8 / columns;
  *x = __builtin_shufflevector(
      *x, *x, (i / 8 * 8 + i % rows * columns + i % 8 / rows)...);
}

// Where the lanes of some vectors are after the first `rows` ones of each were
// transposed, and so on: which of such groups lane i has, as they are in
// memory.
template <int lanes, int rows>
constexpr int GroupOf(int lane) {
  return lane % rows * (lanes / rows) + lane / rows;
}
template <int lanes, int rows>
constexpr int LaneOf(int group) {
  return GroupOf<lanes, lanes / rows>(group);
}

template <bool reverse, int by, int rows, int lanes, int units, int... i>
XLA_FFI_OPS_HD void ShiftUnits(const Vec<int32_t, units>& v,
                               const Vec<int32_t, units>& fill,
                               Vec<int32_t, units>* to,
                               std::integer_sequence<int, i...>) {
  constexpr int per = units / lanes;
  constexpr auto from = [](int unit) {
    const int group = GroupOf<lanes, rows>(unit / per) + (reverse ? by : -by);
    return group < 0 || group >= lanes
               ? unit
               : units + LaneOf<lanes, rows>(group) * per + unit % per;
  };
  Shuffle<units, from(i)...>(fill, v, to);
}

// Shifts lanes up by `by` places, or down if `reverse`. Lanes of `fill` take
// the free places. With `rows`, the places are those of GroupOf.
template <bool reverse, int by, typename T, int lanes, int rows = 1>
XLA_FFI_OPS_HD void Shift(const Vec<T, lanes>& v, const Vec<T, lanes>& fill,
                          Vec<T, lanes>* to) {
  constexpr int units = lanes * (sizeof(T) / 4);
  using Units = Vec<int32_t, units>;
  Units moved;
  ShiftUnits<reverse, by, rows, lanes, units>(
      (Units)v, (Units)fill, &moved, std::make_integer_sequence<int, units>());
  *to = (Vec<T, lanes>)moved;
}

template <int first, int per, int units, int... i>
XLA_FFI_OPS_HD void SpreadUnits(const Vec<int32_t, units>& v,
                                Vec<int32_t, units>* to,
                                std::integer_sequence<int, i...>) {
  Shuffle<units, (first + i % per)...>(v, v, to);
}

// Copies one lane to all.
template <int lane, typename T, int lanes>
XLA_FFI_OPS_HD void Spread(const Vec<T, lanes>& v, Vec<T, lanes>* to) {
  constexpr int per = sizeof(T) / 4, units = lanes * per;
  using Units = Vec<int32_t, units>;
  Units spread;
  SpreadUnits<lane * per, per, units>((Units)v, &spread,
                                      std::make_integer_sequence<int, units>());
  *to = (Vec<T, lanes>)spread;
}

// As static_cast does it for each lane. (lanes::Convert does it as XLA.)
template <typename To, typename From>
XLA_FFI_OPS_HD void ConvertLanes(const From& x, To* y) {
#ifdef XLA_FFI_OPS_X86
  if constexpr ((std::is_same_v<From, Vec<float, 8>> &&
                 std::is_same_v<To, Vec<double, 8>>) ||
                (std::is_same_v<From, Vec<float, 4>> &&
                 std::is_same_v<To, Vec<double, 4>>)) {
    x86::WidenFloats(x, y);
  } else
#endif
    *y = __builtin_convertvector(x, To);
}

// Loads elements, which need not be aligned, and converts them.
template <typename T, int lanes, typename From>
XLA_FFI_OPS_HD void Load(const From* x, Vec<T, lanes>* v) {
  Vec<From, lanes> raw;
  std::memcpy(&raw, x, sizeof(raw));
  ConvertLanes(raw, v);
}

template <typename T, int lanes, typename To>
XLA_FFI_OPS_HD void Store(const Vec<T, lanes>& v, To* y) {
  Vec<To, lanes> raw;
  ConvertLanes(v, &raw);
  std::memcpy(y, &raw, sizeof(raw));
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_VEC_SHUFFLES_H_
