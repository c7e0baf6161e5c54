// SPDX-License-Identifier: Apache-2.0
// One section of a filter, over a piece of some signals: a lane has a signal.
#ifndef XLA_FFI_OPS_SCANS_FILTERS_FILTER_SECTIONS_H_
#define XLA_FFI_OPS_SCANS_FILTERS_FILTER_SECTIONS_H_

#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/scans/recurrences/recurrence.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/shuffles.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::internal {

// The lanes of one vector; complex numbers go one by one.
template <typename E>
inline constexpr int kFilterVector =
    std::is_floating_point_v<E> ? 32 / sizeof(E) : 1;

// Two vectors at a time: each step waits for the one before it.
template <typename E>
inline constexpr int kFilterLanes =
    std::is_floating_point_v<E> ? 2 * kFilterVector<E> : 1;

// A number for each of some lanes.
template <typename E, int lanes>
struct FilterLanes {
  static constexpr int kPer = lanes == 1 ? 1 : kFilterVector<E>;
  static constexpr int kVectors = lanes / kPer;

  XLA_FFI_OPS_HD void LoadFrom(const E* from) {
    if constexpr (lanes == 1) {
      at[0] = *from;
    } else {
#pragma GCC unroll 2
      for (int i = 0; i < kVectors; ++i) Load<E, kPer>(from + i * kPer, at + i);
    }
  }
  XLA_FFI_OPS_HD void StoreTo(E* to) const {
    if constexpr (lanes == 1) {
      *to = at[0];
    } else {
#pragma GCC unroll 2
      for (int i = 0; i < kVectors; ++i) Store<E, kPer>(at[i], to + i * kPer);
    }
  }

  // Becomes z + b x.
  XLA_FFI_OPS_HD void Add(const FilterLanes& z, const FilterLanes& b,
                          const FilterLanes& x) {
#pragma GCC unroll 2
    for (int i = 0; i < kVectors; ++i) {
      if constexpr (std::is_floating_point_v<E>) {
        at[i] = z.at[i] + b.at[i] * x.at[i];
      } else {
        at[i] = MultiplyAdd(b.at[i], x.at[i], z.at[i]);
      }
    }
  }
  // Becomes z - a y.
  XLA_FFI_OPS_HD void Subtract(const FilterLanes& z, const FilterLanes& a,
                               const FilterLanes& y) {
#pragma GCC unroll 2
    for (int i = 0; i < kVectors; ++i) {
      if constexpr (std::is_floating_point_v<E>) {
        at[i] = z.at[i] - a.at[i] * y.at[i];
      } else {
        at[i] = MultiplyAdd(-a.at[i], y.at[i], z.at[i]);
      }
    }
  }

  XLA_FFI_OPS_HD void AddTo(E* sums) const {
    FilterLanes all;
    all.LoadFrom(sums);
#pragma GCC unroll 2
    for (int i = 0; i < kVectors; ++i) all.at[i] += at[i];
    all.StoreTo(sums);
  }

  using Number = std::conditional_t<
      lanes == 1, E,
      Vec<std::conditional_t<std::is_floating_point_v<E>, E, int32_t>,
          lanes == 1 ? 1 : kPer>>;
  // A vector in a template has another alignment for g++ 12 than in its code.
  alignas(kPer * sizeof(E)) Number at[kVectors];
};

// The coefficients of a section and its state, a row of lanes for each number.
template <typename E>
struct FilterSection {
  const E *b0, *b, *a;
  E* z;
};

// Filters n steps where they are.
template <int order, int lanes, typename E>
XLA_FFI_OPS_HD void FilterSteps(const FilterSection<E>& section, E* signals,
                                int64_t n) {
  using Lanes = FilterLanes<E, lanes>;
  Lanes b0, b[order], a[order], z[order + 1] = {};
  b0.LoadFrom(section.b0);
#pragma GCC unroll 2
  for (int k = 0; k < order; ++k) {
    b[k].LoadFrom(section.b + k * lanes);
    a[k].LoadFrom(section.a + k * lanes);
    z[k].LoadFrom(section.z + k * lanes);
  }
  for (int64_t t = 0; t < n; ++t) {
    Lanes x, y, fed;
    x.LoadFrom(signals + t * lanes);
    y.Add(z[0], b0, x);
#pragma GCC unroll 2
    for (int k = 0; k < order; ++k) {
      fed.Add(z[k + 1], b[k], x);
      z[k].Subtract(fed, a[k], y);
    }
    y.StoreTo(signals + t * lanes);
  }
#pragma GCC unroll 2
  for (int k = 0; k < order; ++k) z[k].StoreTo(section.z + k * lanes);
}

template <int lanes, typename E>
XLA_FFI_OPS_HD void FilterStepsOfAnyOrder(const FilterSection<E>& section,
                                          int64_t order, E* signals,
                                          int64_t n) {
  using Lanes = FilterLanes<E, lanes>;
  Lanes b0, b, a;
  b0.LoadFrom(section.b0);
  for (int64_t t = 0; t < n; ++t) {
    Lanes x, y, z = {}, fed;
    x.LoadFrom(signals + t * lanes);
    if (order > 0) z.LoadFrom(section.z);
    y.Add(z, b0, x);
    for (int64_t k = 0; k < order; ++k) {
      b.LoadFrom(section.b + k * lanes);
      a.LoadFrom(section.a + k * lanes);
      if (k + 1 < order) {
        z.LoadFrom(section.z + (k + 1) * lanes);
      } else {
        z = {};
      }
      fed.Add(z, b, x);
      z.Subtract(fed, a, y);
      z.StoreTo(section.z + k * lanes);
    }
    y.StoreTo(signals + t * lanes);
  }
}

template <int lanes, typename E>
void SectionAtLevel(const FilterSection<E>& section, int64_t order, E* signals,
                    int64_t n) {
  AtCpuLevel([&section, order, signals, n]() XLA_FFI_OPS_INLINED {
    const FilterSection<E> own = section;
    if (order == 1) return FilterSteps<1, lanes>(own, signals, n);
    if (order == 2) return FilterSteps<2, lanes>(own, signals, n);
    FilterStepsOfAnyOrder<lanes>(own, order, signals, n);
  });
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_FILTERS_FILTER_SECTIONS_H_
