// SPDX-License-Identifier: Apache-2.0
// The backward pass of a section of a filter.
//
// Let v[t] be the cotangent of x in a filter that has only the poles of a
// section; behind the last step, v is dzf. Going back from there,
//   v[t] = dy[t] - a[1] v[t+1] - ... - a[m] v[t+m],
//   dx[t] = b[0] v[t] + ... + b[m] v[t+m],
//   db[k] = sum of x[t] v[t+k],  da[k] = -sum of y[t] v[t+k],
// and dzi is v[0] to v[m-1].
#ifndef XLA_FFI_OPS_SCANS_FILTERS_FILTER_BACK_H_
#define XLA_FFI_OPS_SCANS_FILTERS_FILTER_BACK_H_

#include <cstdint>

#include "xla_ffi_ops/scans/filters/filter.h"
#include "xla_ffi_ops/scans/filters/filter_sections.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::internal {

// What a section's backward pass adds up, a row of lanes for each number.
template <typename E>
struct FilterSums {
  E *b0, *b, *a;
};

// One vector at a time, if there are sums: its numbers then fit into registers.
template <typename E, int lanes>
using BackLanes = FilterLanes<E, lanes == 1 ? 1 : kFilterVector<E>>;

// Goes back over n steps of Lanes, whose dy becomes dx. v takes the place of
// the state. Sections of any order need memory for 5 Lanes for each order.
template <int kOrder, bool sums, int lanes, typename Lanes, typename E>
XLA_FFI_OPS_HD void BackSteps(const FilterSection<E>& section,
                              const FilterSums<E>& to, int64_t order,
                              Lanes* memory, const E* x, const E* y, E* signals,
                              int64_t n) {
  const int64_t m = kOrder > 0 ? kOrder : order;
  Lanes own[kOrder > 0 ? 5 * kOrder : 1];
  Lanes* const b = kOrder > 0 ? own : memory;
  Lanes *const a = b + m, *const v = a + m, *const db = v + m,
               *const da = db + m;
  Lanes b0, db0 = {};
  b0.LoadFrom(section.b0);
#pragma GCC unroll 2
  for (int64_t k = 0; k < m; ++k) {
    b[k].LoadFrom(section.b + k * lanes);
    a[k].LoadFrom(section.a + k * lanes);
    v[k].LoadFrom(section.z + k * lanes);
    db[k] = da[k] = {};
  }
  for (int64_t t = n; t-- > 0;) {
    Lanes now, dx = {}, in, out;
    now.LoadFrom(signals + t * lanes);
    // The last one first: the step before waits for v[0].
#pragma GCC unroll 2
    for (int64_t k = m - 1; k >= 0; --k) now.Subtract(now, a[k], v[k]);
    dx.Add(dx, b0, now);
#pragma GCC unroll 2
    for (int64_t k = 0; k < m; ++k) dx.Add(dx, b[k], v[k]);
    dx.StoreTo(signals + t * lanes);
    if constexpr (sums) {
      in.LoadFrom(x + t * lanes);
      out.LoadFrom(y + t * lanes);
      db0.Add(db0, in, now);
#pragma GCC unroll 2
      for (int64_t k = 0; k < m; ++k) {
        db[k].Add(db[k], in, v[k]);
        da[k].Subtract(da[k], out, v[k]);
      }
    }
#pragma GCC unroll 2
    for (int64_t k = m - 1; k > 0; --k) v[k] = v[k - 1];
    if (m > 0) v[0] = now;
  }
#pragma GCC unroll 2
  for (int64_t k = 0; k < m; ++k) v[k].StoreTo(section.z + k * lanes);
  if constexpr (sums) {
    db0.AddTo(to.b0);
#pragma GCC unroll 2
    for (int64_t k = 0; k < m; ++k) {
      db[k].AddTo(to.b + k * lanes);
      da[k].AddTo(to.a + k * lanes);
    }
  }
}

template <bool sums, int lanes, typename E>
void BackAtLevel(const FilterSection<E>& section, const FilterSums<E>& to,
                 int64_t order, BackLanes<E, lanes>* memory, const E* x,
                 const E* y, E* signals, int64_t n) {
  AtCpuLevel([=, &section, &to]() XLA_FFI_OPS_INLINED {
    if constexpr (!sums && lanes > 1) {
      // All at once: each step waits for the one before it.
      FilterLanes<E, lanes>* const none = nullptr;
      const FilterSection<E> own = section;
      if (order == 1) {
        return BackSteps<1, false, lanes>(own, to, 1, none, x, y, signals, n);
      }
      if (order == 2) {
        return BackSteps<2, false, lanes>(own, to, 2, none, x, y, signals, n);
      }
    }
    for (int i = 0; i < lanes; i += lanes == 1 ? 1 : kFilterVector<E>) {
      const FilterSection<E> own{section.b0 + i, section.b + i, section.a + i,
                                 section.z + i};
      const FilterSums<E> sum{to.b0 + i, to.b + i, to.a + i};
      if (order == 1) {
        BackSteps<1, sums, lanes>(own, sum, 1, memory, x + i, y + i,
                                  signals + i, n);
      } else if (order == 2) {
        BackSteps<2, sums, lanes>(own, sum, 2, memory, x + i, y + i,
                                  signals + i, n);
      } else {
        BackSteps<0, sums, lanes>(own, sum, order, memory, x + i, y + i,
                                  signals + i, n);
      }
    }
  });
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_FILTERS_FILTER_BACK_H_
