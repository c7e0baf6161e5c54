// SPDX-License-Identifier: Apache-2.0
// How vectors of wide numbers hold the elements of a row: neighbors are in
// different vectors.
#ifndef XLA_FFI_OPS_SCANS_ROW_VECTORS_H_
#define XLA_FFI_OPS_SCANS_ROW_VECTORS_H_

#include <cstdint>
#include <cstring>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/half_vectors.h"
#include "xla_ffi_ops/vec/lanes/transpose_lanes.h"
#include "xla_ffi_ops/vec/shuffles.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::internal {

// `rows` vectors with so many lanes of type W, for rows * lanes elements of
// type T.
template <typename T, typename W, int lanes, int rows>
struct RowVectors {
  using V = Vec<W, lanes>;
  // The `rows` of GroupOf, which tells what a lane has.
  static constexpr int kOrder = rows;

  // Squares of 16 bytes of vectors are transposed.
  XLA_FFI_OPS_HD static void Read(const T* x, V* v) {
    Vec<T, lanes> stored[rows];
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) Load<T, lanes>(x + i * lanes, &stored[i]);
    SwapBlocks<1, T, lanes, rows>(stored);
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) ConvertLanes(stored[i], &v[i]);
  }
  XLA_FFI_OPS_HD static void Write(const V* v, T* y) {
    Vec<T, lanes> stored[rows];
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) ConvertLanes(v[i], &stored[i]);
    SwapBlocks<1, T, lanes, rows>(stored);
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) Store<T, lanes>(stored[i], y + i * lanes);
  }
};

// Reads and writes halves: element 4 * i + j is lane i of vector j.
template <int lanes>
XLA_FFI_OPS_HD void ReadHalves(const Float16* x, Vec<float, lanes>* v) {
  constexpr int n = 2 * lanes;
  Vec<int16_t, 2 * n> all;
  std::memcpy(&all, x, sizeof(all));
  TransposeEach<4, 2 * n>(&all, kEach<2 * n>);
  auto pairs = (Vec<int32_t, n>)all;
  Transpose<4, n>(&pairs, kEach<n>);
  Vec<int16_t, n> raw[2];
  Cut<int16_t, 2 * n>((Vec<int16_t, 2 * n>)pairs, raw, raw + 1, kEach<n>);
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    Vec<float, n> wide;
    Widen<n>(Float16(), raw[k], &wide);
    Cut<float, n>(wide, v + 2 * k, v + 2 * k + 1, kEach<lanes>);
  }
}
template <int lanes>
XLA_FFI_OPS_HD void WriteHalves(const Vec<float, lanes>* v, Float16* y) {
  constexpr int n = 2 * lanes;
  Vec<int16_t, n> raw[2];
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    Vec<float, n> wide;
    Join<float, n>(v[2 * k], v[2 * k + 1], &wide, kEach<n>);
    Narrow<n>(Float16(), wide, &raw[k]);
  }
  Vec<int16_t, 2 * n> all;
  Join<int16_t, 2 * n>(raw[0], raw[1], &all, kEach<2 * n>);
  auto pairs = (Vec<int32_t, n>)all;
  Transpose<lanes / 2, n>(&pairs, kEach<n>);
  all = (Vec<int16_t, 2 * n>)pairs;
  TransposeEach<2, 2 * n>(&all, kEach<2 * n>);
  std::memcpy(static_cast<void*>(y), &all, sizeof(all));
}

template <int lanes>
XLA_FFI_OPS_HD void ReadHalves(const BFloat16* x, Vec<float, lanes>* v) {
  constexpr int n = 2 * lanes;
  Vec<int32_t, n> pairs;
  Vec<float, n> wide[2];
  std::memcpy(&pairs, x, sizeof(pairs));
  Transpose<2, n>(&pairs, kEach<n>);
  SplitPairs<n>(pairs, wide, wide + 1);
  Cut<float, n>(wide[0], v, v + 2, kEach<lanes>);
  Cut<float, n>(wide[1], v + 1, v + 3, kEach<lanes>);
}
template <int lanes>
XLA_FFI_OPS_HD void WriteHalves(const Vec<float, lanes>* v, BFloat16* y) {
  constexpr int n = 2 * lanes;
  Vec<float, n> wide[2];
  Vec<int32_t, n> pairs;
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    Join<float, n>(v[k], v[k + 2], &wide[k], kEach<n>);
  }
  JoinPairs<n>(wide[0], wide[1], &pairs);
  Transpose<lanes, n>(&pairs, kEach<n>);
  std::memcpy(static_cast<void*>(y), &pairs, sizeof(pairs));
}

// For elements of 16 bits: they change places while they are narrow.
template <typename T, int lanes, int rows>
struct HalfRowVectors {
  using V = Vec<double, lanes>;
  static constexpr int kOrder = 1;

  XLA_FFI_OPS_HD static void Read(const T* x, V* v) {
    Vec<float, lanes> narrow[rows];
    if constexpr (rows == 4) {
      ReadHalves<lanes>(x, narrow);
    } else if constexpr (lanes >= 4) {
      ReadOne<T, lanes>(x, narrow);
    } else {
      for (int i = 0; i < lanes; ++i) narrow[0][i] = x[i];
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) ConvertLanes(narrow[i], &v[i]);
  }
  XLA_FFI_OPS_HD static void Write(const V* v, T* y) {
    Vec<float, lanes> narrow[rows];
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) ConvertLanes(v[i], &narrow[i]);
    if constexpr (rows == 4) {
      WriteHalves<lanes>(narrow, y);
    } else if constexpr (lanes >= 4) {
      WriteOne<T, lanes>(narrow[0], y);
    } else {
      for (int i = 0; i < lanes; ++i) y[i] = static_cast<float>(narrow[0][i]);
    }
  }
};
template <int lanes, int rows>
struct RowVectors<Float16, double, lanes, rows>
    : HalfRowVectors<Float16, lanes, rows> {};
template <int lanes, int rows>
struct RowVectors<BFloat16, double, lanes, rows>
    : HalfRowVectors<BFloat16, lanes, rows> {};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_ROW_VECTORS_H_
