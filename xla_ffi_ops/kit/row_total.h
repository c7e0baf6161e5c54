// SPDX-License-Identifier: Apache-2.0
// Combines the elements of a row on the CPU.
//
// The code is shaped by what g++ 12 vectorizes in a function of several clones:
// each number of a statistic has its own array of lanes, and the loops over
// lanes have constant lengths.
#ifndef XLA_FFI_OPS_KIT_ROW_TOTAL_H_
#define XLA_FFI_OPS_KIT_ROW_TOTAL_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/formula.h"
#include "xla_ffi_ops/kit/pairs.h"

namespace xla_ffi_ops::internal {

template <int n>
using Count = std::integral_constant<int, n>;

// Combines the statistics of cols elements; statistic(which, j) is that of one.
// Before the elements of each cache line it calls ahead(j).
//
// Element j is in one of kLanes lanes. A lane adds 16 elements one after
// another, and then 16 such sums; then the lanes are added in pairs, and their
// sums with compensation. So the error of a sum does not grow with its length:
// equal terms are the worst case, with less than 6 units in the last place. The
// order of the additions is the same for every vector width.
template <typename T, bool kPairs, typename S, typename Acc, typename Statistic,
          typename Ahead>
XLA_FFI_OPS_HD S Total(int64_t cols, Statistic statistic, Ahead ahead) {
  constexpr int n = sizeof(S) / sizeof(Acc);
  constexpr int kLanes = 64 / sizeof(T);
  constexpr int64_t kGroup = 16 * kLanes;
  Acc a[kLanes], b[kLanes];          // of a group
  Acc old_a[kLanes], old_b[kLanes];  // of the groups before it
  // Calls fn(number of the statistic, its lanes, those of older groups).
  const auto each = [&](auto fn) XLA_FFI_OPS_INLINED {
    fn(Count<0>(), a, old_a);
    if constexpr (n > 1) fn(Count<1>(), b, old_b);
  };
  const auto clear = [&]() XLA_FFI_OPS_INLINED {
    each([](auto i, Acc* lanes, Acc*) XLA_FFI_OPS_INLINED {
      std::fill_n(lanes, kLanes, S::Initial().value[i]);
    });
  };
  const auto add_to = [&](int lane, const S& s) XLA_FFI_OPS_INLINED {
    a[lane] = S::Combine(a[lane], s.value[0]);
    if constexpr (n > 1) b[lane] = S::Combine(b[lane], s.value[1]);
  };
  // Adds the next `count` elements.
  const auto add = [&](int64_t& j, auto count) XLA_FFI_OPS_INLINED {
    if constexpr (kPairs) {
#pragma omp simd
      for (int k = 0; k < count / 2; ++k) {
        add_to(k, statistic(kFirst, j + 2 * k));
        add_to(k + kLanes / 2, statistic(kSecond, j + 2 * k));
      }
    } else {
#pragma omp simd
      for (int k = 0; k < count; ++k) {
        add_to(k, statistic(kSingle, j + k));
      }
    }
    j += count;
  };
  CompensatedTotal<S> total;
  for (int64_t j = 0; j < cols;) {
    const int64_t begin = j;
    const int64_t end = std::min(cols, begin + 16 * kGroup);
    bool grouped = false;
    clear();
    while (true) {
      const int64_t stop = std::min(end, j + kGroup);
      while (stop - j >= kLanes) {
        ahead(j);
        add(j, Count<kLanes>());
      }
      if (stop == end) break;
      each([=](auto, const Acc* lanes, Acc* old) XLA_FFI_OPS_INLINED {
#pragma omp simd
        for (int k = 0; k < kLanes; ++k) {
          old[k] = grouped ? S::Combine(old[k], lanes[k]) : lanes[k];
        }
      });
      grouped = true;
      clear();
    }
    while (end - j >= kLanes / 4) add(j, Count<kLanes / 4>());
    for (int k = 0; j < end; ++k, ++j) {
      add_to(k, statistic(kSingle, j));
      asm volatile("");  // Vectorized, these few would be most of the code.
    }
    each([=](auto, Acc* lanes, const Acc* old) XLA_FFI_OPS_INLINED {
      if (grouped) {
#pragma omp simd
        for (int k = 0; k < kLanes; ++k)
          lanes[k] = S::Combine(old[k], lanes[k]);
      }
      for (int half = kLanes / 2; half > 0; half /= 2) {
#pragma omp simd
        for (int k = 0; k < half; ++k) {
          lanes[k] = S::Combine(lanes[k], lanes[k + half]);
        }
      }
    });
    S block;
    block.value[0] = a[0];
    if constexpr (n > 1) block.value[1] = b[0];
    if (end - begin == cols) return block;
    total.Add(block);
  }
  return total.value();
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_ROW_TOTAL_H_
