// SPDX-License-Identifier: Apache-2.0
// Steps of a linear recurrence in several columns: a vector has a column in
// each of its lanes.
#ifndef XLA_FFI_OPS_SCANS_RECURRENCES_COLUMN_STEPS_H_
#define XLA_FFI_OPS_SCANS_RECURRENCES_COLUMN_STEPS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/scans/recurrences/recurrence.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_steps.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/half_vectors.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::internal {

// Steps of n columns, from one pointer to the next by a stride. Of advantages,
// `a` has discounts and `b` rewards.
template <typename T, bool kAdvantages>
struct ColumnSteps {
  using E = ElementOf<T>;
  // So many columns go through some steps in registers: with more, a step's
  // results are better read again.
  static constexpr int64_t kFew = 32;
  static constexpr int kLine = 64 / sizeof(T);

  int64_t steps, n;
  const T* a;
  int64_t a_stride;
  bool has_one;  // whether all columns have the factor a[0]
  const T* b;
  T* h;
  int64_t stride;  // of b, h and v
  // Of advantages:
  const T* v = nullptr;  // values
  int64_t next = 0;      // from a value to that of the step after it
  E lambda = 0;

  // h of a step, where `last` is what it is before. All are numbers or vectors.
  template <typename A, typename V>
  XLA_FFI_OPS_HD void Advance(const A& factor, const V& term, const V& before,
                              const V& after, V* last) const {
    if constexpr (kAdvantages) {
      *last = factor * lambda * *last + (term + factor * after - before);
    } else if constexpr (std::is_same_v<V, E>) {
      *last = MultiplyAdd(factor, *last, term);
    } else {
      *last = factor * *last + term;
    }
  }

  // Step i of all columns.
  template <bool kHasOne>
  XLA_FFI_OPS_HD void Step(int64_t i, const E* last) const {
    const E* const factors = a + i * a_stride;
    const E* const terms = b + i * stride;
    const E* const before = kAdvantages ? v + i * stride : terms;
    const E* const after = before + next;
    E* const to = h + i * stride;
    const E one = factors[0];
    XLA_FFI_OPS_INDEPENDENT
    for (int64_t j = 0; j < n; ++j) {
      E x = last[j];
      Advance(kHasOne ? one : factors[j], terms[j], before[j], after[j], &x);
      to[j] = x;
    }
  }

  // Steps [begin, end) of as many columns as there are lanes, from j on.
  template <int lanes>
  XLA_FFI_OPS_HD void Few(int64_t begin, int64_t end, int64_t j,
                          E* state) const {
    using V = VecOrNumber<E, lanes>;
    const auto load = [](const T* x, V* v) XLA_FFI_OPS_INLINED {
      if constexpr (lanes == 1) {
        *v = static_cast<E>(*x);
      } else {
        ReadOne<T, lanes>(x, v);
      }
    };
    V last, term, factor, before{}, after{};
    std::memcpy(&last, state + j, sizeof(V));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i * stride + j;
      load(b + at, &term);
      if constexpr (kAdvantages) {
        load(v + at, &before);
        load(v + at + next, &after);
      }
      if (has_one) {
        Advance(static_cast<E>(a[i * a_stride]), term, before, after, &last);
      } else {
        load(a + i * a_stride + j, &factor);
        Advance(factor, term, before, after, &last);
      }
      if constexpr (lanes == 1) {
        h[at] = static_cast<T>(last);
      } else {
        WriteOne<T, lanes>(last, h + at);
      }
    }
    std::memcpy(state + j, &last, sizeof(V));
  }

  // How many steps are computed for some columns before those of the next
  // columns: so many stay in the cache.
  int64_t Block() const { return std::max<int64_t>(4, kRecurrencePiece / n); }

  // The same for the columns of a line of the cache. The lines of later steps
  // are fetched: to read several arrays and convert them leaves the memory
  // idle.
  template <int lanes>
  XLA_FFI_OPS_HD void Line(int64_t begin, int64_t end, int64_t j,
                           E* state) const {
    constexpr int kVectors = kLine / lanes;
    using V = Vec<E, lanes>;
    const int64_t ahead = 2 * Block();
    V last[kVectors], terms[kVectors], factors[kVectors];
    ToOrderOf<T, lanes, kVectors>(state + j, last, kEach<lanes>);
    for (int64_t i = begin; i < end; ++i) {
      const T* const from = b + i * stride + j;
      const T* const own = a + i * a_stride + j;
      T* const to = h + i * stride + j;
      __builtin_prefetch(from + ahead * stride, false, 2);
      __builtin_prefetch(to + ahead * stride, true, 2);
      ReadSome<T, lanes, kVectors>(from, terms);
      if (has_one) {
        const E one = static_cast<E>(a[i * a_stride]);
#pragma GCC unroll 4
        for (int k = 0; k < kVectors; ++k) last[k] = one * last[k] + terms[k];
      } else {
        __builtin_prefetch(own + ahead * a_stride, false, 2);
        ReadSome<T, lanes, kVectors>(own, factors);
#pragma GCC unroll 4
        for (int k = 0; k < kVectors; ++k) {
          last[k] = factors[k] * last[k] + terms[k];
        }
      }
      WriteSome<T, lanes, kVectors>(last, to);
    }
    FromOrderOf<T, lanes, kVectors>(last, state + j, kEach<lanes>);
  }

  // Computes all of them. `state` is what h is before them, and then behind.
  // The level has to be at least T's.
  void Run(E* state) const {
    AtCpuLevel<kLeastLevel<T>>([this, state](auto level) XLA_FFI_OPS_INLINED {
      const ColumnSteps local = *this;  // in registers: h might point to *this
      if constexpr (!kIs16BitFloat<T>) {
        if (n > kFew) {
          const E* last = state;
          for (int64_t i = 0; i < steps; ++i, last = h + (i - 1) * stride) {
            has_one ? local.template Step<true>(i, last)
                    : local.template Step<false>(i, last);
          }
          std::copy_n(last, n, state);
          return;
        }
      }
      constexpr int kLanes = kRecurrenceLanes<E>;
      const int64_t block = Block();
      for (int64_t begin = 0; begin < steps; begin += block) {
        const int64_t end = std::min(steps, begin + block);
        int64_t j = 0;
        if constexpr (kIs16BitFloat<T>) {
          constexpr int kWide = kVectorBytes<level> / sizeof(E);
          for (; j + kLine <= n; j += kLine) {
            local.template Line<kWide>(begin, end, j, state);
          }
        }
        for (; j + kLanes <= n; j += kLanes) {
          local.template Few<kLanes>(begin, end, j, state);
        }
        if constexpr (kIs16BitFloat<T>) {
          for (; j + 4 <= n; j += 4)
            local.template Few<4>(begin, end, j, state);
        }
        for (; j < n; ++j) local.template Few<1>(begin, end, j, state);
      }
    });
  }
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_RECURRENCES_COLUMN_STEPS_H_
