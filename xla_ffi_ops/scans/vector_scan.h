// SPDX-License-Identifier: Apache-2.0
// Scans the vectors of one row, on the CPU.
#ifndef XLA_FFI_OPS_SCANS_VECTOR_SCAN_H_
#define XLA_FFI_OPS_SCANS_VECTOR_SCAN_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/scans/row_vectors.h"
#include "xla_ffi_ops/scans/scan_ops.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/shuffles.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::internal {

// v[i] becomes the combination of the lanes up to i, in log2(lanes) steps.
template <typename Op, bool reverse, int by, typename W, int lanes, int order>
XLA_FFI_OPS_HD void ScanLanes(Vec<W, lanes>* v, const Vec<W, lanes>& identity) {
  if constexpr (by < lanes) {
    Vec<W, lanes> before;
    Shift<reverse, by, W, lanes, order>(*v, identity, &before);
    Op::Combine(before, v);
    ScanLanes<Op, reverse, 2 * by, W, lanes, order>(v, identity);
  }
}

// Scans the vectors of a row one after another.
template <typename Op, typename T, bool reverse, int lanes>
struct VectorScan {
  using W = typename Op::template Wide<T>;
  using V = Vec<W, lanes>;
  // The number of vectors that are scanned at once. Neighbors are in different
  // vectors, and the lanes are scanned once for all of these. The product of so
  // many floats may overflow in double; that of so many Float16 does not.
  static constexpr int kRows =
      std::is_same_v<Op, Product> &&
              (std::is_same_v<T, float> || std::is_same_v<T, BFloat16>)
          ? 1
      : kIs16BitFloat<T> ? (lanes < 4 ? 1 : 4)
                         : std::min<int>(lanes, 16 / sizeof(T));
  template <int rows>
  using Vectors = RowVectors<T, W, lanes, rows>;
  // Sums of double in a lane might overflow where the running sum does not.
  static constexpr bool kByLane = Op::kInBlocks && !std::is_same_v<T, double>;

  V base;  // part of all results
  V identity;
  V carry;  // the elements so far, combined
  // The same, but each lane on its own. The total of a block is made of these:
  // where only the total is wanted, no vector's lanes are scanned.
  V by_lane;

  XLA_FFI_OPS_HD VectorScan(W base_value, W carry_value) {
    Splat<W, lanes>(base_value, &base);
    Splat<W, lanes>(Op::template Identity<W>(), &identity);
    Splat<W, lanes>(carry_value, &carry);
    by_lane = identity;
    by_lane[0] = carry_value;
  }

  // The steps of `rows` vectors at x. The first one: each vector is combined
  // with those before it.
  template <int rows>
  XLA_FFI_OPS_HD void Begin(const T* x, V* v) {
    Vectors<rows>::Read(x, v);
    if constexpr (reverse) std::reverse(v, v + rows);
#pragma GCC unroll 4
    for (int i = 1; i < rows; ++i) Op::Combine(v[i - 1], &v[i]);
    if constexpr (kByLane) Op::Combine(v[rows - 1], &by_lane);
  }

  // The second: the lanes of the last one are scanned.
  template <int rows>
  XLA_FFI_OPS_HD void Lanes(const V* v, V* sums) const {
    *sums = v[rows - 1];
    ScanLanes<Op, reverse, 1, W, lanes, Vectors<rows>::kOrder>(sums, identity);
  }

  // The third: unless y is null, the vectors are combined with all that is
  // before them, and written to y. Then `carry` includes them.
  template <int rows>
  XLA_FFI_OPS_HD void End(V* v, const V& sums, T* y) {
    V all, before = carry;
    Spread<reverse ? 0 : lanes - 1, W, lanes>(sums, &all);
    if (y != nullptr) {
      if constexpr (rows == 1) {
        v[0] = sums;
      } else {
        Shift<reverse, 1, W, lanes, Vectors<rows>::kOrder>(sums, identity,
                                                           &before);
        Op::Combine(carry, &before);
      }
      if constexpr (Op::kInBlocks) Op::Combine(base, &before);
#pragma GCC unroll 4
      for (int i = 0; i < rows; ++i) Op::Combine(before, &v[i]);
      if constexpr (reverse) std::reverse(v, v + rows);
      Vectors<rows>::Write(v, y);
    }
    Op::Combine(carry, &all);
    carry = all;
  }

  // Scans groups of `rows` vectors, as many as n elements have, and returns how
  // many elements it scanned: 0 if there are fewer than two groups. Each step
  // waits for the one before it, and a processor does not look far enough ahead
  // to hide that. So the three steps of different groups take turns.
  template <int rows>
  XLA_FFI_OPS_HD int64_t Many(const T* x, T* y, int64_t n) {
    constexpr int kStep = rows * lanes;
    const int64_t count = n / kStep;
    if (count < 2) return 0;
    const auto at = [=](int64_t k) XLA_FFI_OPS_INLINED {
      return reverse ? n - (k + 1) * kStep : k * kStep;
    };
    const auto to = [=](int64_t k) XLA_FFI_OPS_INLINED {
      return y == nullptr ? y : y + at(k);
    };
    V next[rows], begun[rows], summed[rows], sums, last;
    if (kByLane && y == nullptr) {
      for (int64_t k = 0; k < count; ++k) Begin<rows>(x + at(k), next);
      return count * kStep;
    }
    Begin<rows>(x + at(0), summed);
    Lanes<rows>(summed, &last);
    Begin<rows>(x + at(1), begun);
    for (int64_t k = 2; k < count; ++k) {
      Begin<rows>(x + at(k), next);
      Lanes<rows>(begun, &sums);
      End<rows>(summed, last, to(k - 2));
#pragma GCC unroll 4
      for (int i = 0; i < rows; ++i) summed[i] = begun[i], begun[i] = next[i];
      last = sums;
    }
    Lanes<rows>(begun, &sums);
    End<rows>(summed, last, to(count - 2));
    End<rows>(begun, sums, to(count - 1));
    return count * kStep;
  }

  XLA_FFI_OPS_HD void One(const T* x, T* y) {
    V v[1], sums;
    Begin<1>(x, v);
    if (kByLane && y == nullptr) return;
    Lanes<1>(v, &sums);
    End<1>(v, sums, y);
  }

  XLA_FFI_OPS_HD W Run(const T* x, T* y, int64_t n) {
    int64_t whole = Many<kRows>(x, y, n);
    for (; whole + lanes <= n; whole += lanes) {
      const int64_t at = reverse ? n - lanes - whole : whole;
      One(x + at, y == nullptr ? nullptr : y + at);
    }
    const int64_t rest = n - whole;
    if (rest > 0) {
      const int64_t at = reverse ? 0 : whole,
                    skipped = reverse ? lanes - rest : 0;
      T some[lanes];
      const T nothing(Op::template Identity<W>());
      std::fill_n(some, lanes, nothing);
      for (int64_t i = 0; i < rest; ++i) some[skipped + i] = x[at + i];
      One(some, y == nullptr ? nullptr : some);
      for (int64_t i = 0; i < rest && y != nullptr; ++i) {
        y[at + i] = some[skipped + i];
      }
    }
    if constexpr (!kByLane) return carry[0];
    W all = by_lane[0];
    for (int lane = 1; lane < lanes; ++lane) {
      W more = by_lane[lane];
      Op::Combine(all, &more);
      all = more;
    }
    return all;
  }
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_VECTOR_SCAN_H_
