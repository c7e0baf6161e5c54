// SPDX-License-Identifier: Apache-2.0
// Combines the elements of a piece of a row on the CPU.
//
// The code is shaped by what g++ 12 vectorizes: each number of a statistic has
// its own array of lanes, and the loops over lanes have constant lengths.
#ifndef XLA_FFI_OPS_ROWS_CPU_ROW_TOTAL_H_
#define XLA_FFI_OPS_ROWS_CPU_ROW_TOTAL_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "xla_ffi_ops/rows/cpu/row_pieces.h"
#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/row_elements.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::internal {

// The lanes of a statistic's number, in as many vectors as v has elements.
//
// A vector is a variable here, so that it stays in a register: g++ 12 stores an
// array for each block, and loads it again.
template <typename Acc, typename Indices>
struct Lanes;
template <typename Acc, int... v>
struct Lanes<Acc, std::integer_sequence<int, v...>> {
  static constexpr int kSize = kRowBlock<Acc> / sizeof...(v);

  XLA_FFI_OPS_HD void Load(const Acc* lanes) {
    (std::memcpy(&vectors[v], lanes + v * kSize, sizeof(vectors[v])), ...);
  }
  XLA_FFI_OPS_HD void Store(Acc* lanes) const {
    (std::memcpy(lanes + v * kSize, &vectors[v], sizeof(vectors[v])), ...);
  }

  Vec<Acc, kSize> vectors[sizeof...(v)];
};

// Adds whole blocks of elements, from j to `stop` at most, to the lanes of a
// statistic's number, or of both if it has two. Returns the first element that
// is in no block.
template <int level, typename S, typename Acc, typename Statistic,
          typename Ahead, int... v, typename... X>
XLA_FFI_OPS_HD int64_t AddBlocks(int64_t j, int64_t stop, Statistic statistic,
                                 Ahead ahead, Acc* a, Acc* b,
                                 std::integer_sequence<int, v...> indices,
                                 X... x) {
  constexpr bool two = sizeof(S) > sizeof(Acc);
  constexpr int kLine = std::max({X::kLine...});  // of a cache
  using All = Lanes<Acc, decltype(indices)>;
  All first, second;
  first.Load(a);
  if constexpr (two) second.Load(b);
  for (; stop - j >= kRowBlock<Acc>; j += kRowBlock<Acc>) {
    for (int k = 0; k < kRowBlock<Acc>; k += kLine) ahead(j + k);
    const auto add_all = [&](const auto&... block) XLA_FFI_OPS_INLINED {
      const auto add = [&](auto i) XLA_FFI_OPS_INLINED {
        constexpr int size = All::kSize;
        Acc p[size], q[size];
        std::memcpy(p, &first.vectors[i], sizeof(p));
        if constexpr (two) std::memcpy(q, &second.vectors[i], sizeof(q));
#pragma omp simd
        for (int k = 0; k < size; ++k) {
          const int lane = i * size + k;
          const S s = statistic(j + lane, Acc(block[lane])...);
          p[k] = S::Combine(p[k], s.value[0]);
          if constexpr (two) q[k] = S::Combine(q[k], s.value[1]);
        }
        std::memcpy(&first.vectors[i], p, sizeof(p));
        if constexpr (two) std::memcpy(&second.vectors[i], q, sizeof(q));
      };
      (add(Count<v>()), ...);
    };
    add_all(x.template Take<level, kRowBlock<Acc>>(j)...);
  }
  first.Store(a);
  if constexpr (two) second.Store(b);
  return j;
}

// lanes[0] combines the first 2 * half lanes.
template <typename S, int half, typename Acc>
XLA_FFI_OPS_HD void CombineLanes(Acc* lanes) {
#pragma omp simd
  for (int k = 0; k < half; ++k) {
    lanes[k] = S::Combine(lanes[k], lanes[k + half]);
  }
  if constexpr (half > 1) CombineLanes<S, half / 2>(lanes);
}

// Combines the statistics of n elements of pieces x, at most kPiece:
// statistic(j, x[j]...) is that of element j. Before some elements it calls
// ahead(j).
//
// Each element is in one of kLanes lanes. A lane adds 16 elements one after
// another, and then 16 such sums; then the lanes are added in pairs. So the
// error of a sum does not grow with its length: equal terms are the worst case,
// with less than 6 units in the last place. The order of the additions is the
// same for every vector width.
template <int level, typename S, typename Acc, typename Statistic,
          typename Ahead, typename... X>
XLA_FFI_OPS_HD S Total(int64_t n, Statistic statistic, Ahead ahead, X... x) {
  constexpr int numbers = sizeof(S) / sizeof(Acc);
  static constexpr int kLanes = kRowBlock<Acc>;
  constexpr int64_t kGroup = 16 * kLanes;
  static_assert(kPiece<Acc> <= 16 * kGroup);
  Acc a[kLanes], b[kLanes];          // of a group
  Acc old_a[kLanes], old_b[kLanes];  // of the groups before it
  // Calls fn(number of the statistic, its lanes, those of older groups).
  const auto each = [&](auto fn) XLA_FFI_OPS_INLINED {
    fn(Count<0>(), a, old_a);
    if constexpr (numbers > 1) fn(Count<1>(), b, old_b);
  };
  const auto clear = [&]() XLA_FFI_OPS_INLINED {
    each([](auto i, Acc* lanes, Acc*) XLA_FFI_OPS_INLINED {
      Acc initial = S::Initial().value[i];
      asm("" : "+m"(initial));  // A known zero would be a slow memset.
#pragma omp simd
      for (int k = 0; k < kLanes; ++k) lanes[k] = initial;
    });
  };
  // Adds `count` elements from j on to lanes from `lane` on.
  const auto add = [&](int64_t j, auto count, int lane) XLA_FFI_OPS_INLINED {
    constexpr int size = decltype(count)::value;
    const auto add_all = [&](const auto&... block) XLA_FFI_OPS_INLINED {
#pragma omp simd
      for (int k = 0; k < size; ++k) {
        const S s = statistic(j + k, Acc(block[k])...);
        a[lane + k] = S::Combine(a[lane + k], s.value[0]);
        if constexpr (numbers > 1) {
          b[lane + k] = S::Combine(b[lane + k], s.value[1]);
        }
      }
    };
    add_all(x.template Take<level, size>(j)...);
  };
  bool grouped = false;
  int64_t j = 0;
  clear();
  while (true) {
    const int64_t stop = std::min(n, j + kGroup);
    constexpr int vectors = kLanes * sizeof(Acc) / kVectorBytes<level>;
    j = AddBlocks<level, S>(j, stop, statistic, ahead, a, b,
                            std::make_integer_sequence<int, vectors>(), x...);
    if (stop == n) break;
    each([=](auto, const Acc* lanes, Acc* old) XLA_FFI_OPS_INLINED {
#pragma omp simd
      for (int k = 0; k < kLanes; ++k) {
        old[k] = grouped ? S::Combine(old[k], lanes[k]) : lanes[k];
      }
    });
    grouped = true;
    clear();
  }
  for (; n - j >= kLanes / 4; j += kLanes / 4) add(j, Count<kLanes / 4>(), 0);
  for (int k = 0; j < n; ++k, ++j) {
    add(j, Count<1>(), k);
    asm volatile("");  // Vectorized, these few would be most of the code.
  }
  each([=](auto, Acc* lanes, const Acc* old) XLA_FFI_OPS_INLINED {
    if (grouped) {
#pragma omp simd
      for (int k = 0; k < kLanes; ++k) lanes[k] = S::Combine(old[k], lanes[k]);
    }
    CombineLanes<S, kLanes / 2>(lanes);
  });
  S total;
  total.value[0] = a[0];
  if constexpr (numbers > 1) total.value[1] = b[0];
  return total;
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_ROWS_CPU_ROW_TOTAL_H_
