// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/spline_filter1d/spline_filter1d.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "xla_ffi_ops/scans/filters/filter_signals.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {
namespace internal {
namespace {

// Whole cache lines of each step: as many as the processor reads ahead, if all
// steps of them fit the second cache.
template <typename T>
inline constexpr int kManyLines = 256 / sizeof(T);
template <typename T>
inline constexpr int kFewLines = 64 / sizeof(T);
inline constexpr int64_t kCache = 256 * 1024;

// Steps of some lines, in order. A step of all of them is contiguous.
template <typename T>
struct Steps {
  T* at(int64_t step) const { return data + step * stride; }

  T* data;
  int64_t stride;
};

// Begins to read a step of lines, or to write it, some steps before it is
// needed: it may be far from the step before.
inline constexpr int64_t kAhead = 16;
template <int lanes, bool writes, typename T>
XLA_FFI_OPS_HD void Prefetch(const T* step) {
  for (int i = 0; i < lanes; i += 64 / sizeof(T)) {
    __builtin_prefetch(step + i, writes);
  }
}

template <int lanes, typename T>
XLA_FFI_OPS_HD void AddUp(const WeightedPart<T>& part, Steps<const T> lines,
                          T* total) {
  std::fill_n(total, lanes, T(0));
  int64_t step = part.first;
  for (const T weight : part.weights) {
    const T* const from = lines.at(step++);
    for (int i = 0; i < lanes; ++i) total[i] += weight * from[i];
  }
}

// Runs both recurrences. x, y and c may be the same memory.
template <int lanes, typename T>
void FilterLines(const SplineFilter<T>& call, Steps<const T> x, Steps<T> y,
                 Steps<T> c) {
  AtCpuLevel([=, &call]() XLA_FFI_OPS_INLINED {
    const T pole = call.pole, factor = -pole * call.gain;
    T last[lanes];
    AddUp<lanes>(call.before, x, last);
    for (int64_t t = 0; t < call.n; ++t) {
      const T* const from = x.at(t);
      T* const to = y.at(t);
      if (t + kAhead < call.n) Prefetch<lanes, false>(x.at(t + kAhead));
      XLA_FFI_OPS_INDEPENDENT
      for (int i = 0; i < lanes; ++i) {
        to[i] = last[i] = pole * last[i] + from[i];
      }
    }
    AddUp<lanes>(call.behind, Steps<const T>{y.data, y.stride}, last);
    for (int i = 0; i < lanes; ++i) last[i] *= call.gain;
    for (int64_t t = call.n - 1; t >= 0; --t) {
      const T* const from = y.at(t);
      T* const to = c.at(t);
      if (t >= kAhead) Prefetch<lanes, true>(c.at(t - kAhead));
      XLA_FFI_OPS_INDEPENDENT
      for (int i = 0; i < lanes; ++i) {
        to[i] = last[i] = pole * last[i] + factor * from[i];
      }
    }
  });
}

// Filters `used` lines from `begin` on, in copies, [n, lanes].
template <int lanes, typename T>
void FilterGroup(const SplineFilter<T>& call, int64_t begin, int used,
                 T* copies) {
  LanesAt<const T, lanes> x{{}, call.x.width};
  LanesAt<T, lanes> c{{}, call.columns};
  for (int lane = 0; lane < lanes; ++lane) {
    const int64_t line = begin + (lane < used ? lane : 0);
    const int64_t row = line / call.columns, column = line % call.columns;
    x.at[lane] = call.x.Row(row) + call.x.columns(column);
    c.at[lane] = call.c + row * call.n * call.columns + column;
  }
  const Steps<T> lines{copies, lanes};
  if (used == lanes && x.together() && c.together()) {
    FilterLines<lanes>(call, Steps<const T>{x.at[0], x.stride}, lines,
                       Steps<T>{c.at[0], c.stride});
    return;
  }
  CopyPiece<true, lanes>(x, call.n, false, used, copies);
  FilterLines<lanes>(call, Steps<const T>{copies, lanes}, lines, lines);
  CopyPiece<false, lanes>(c, call.n, false, used, copies);
}

}  // namespace
}  // namespace internal

template <typename T>
int64_t SplineLinesAtOnce(int64_t n) {
  constexpr int64_t kMany = internal::kManyLines<T>;
  const bool fits = n * kMany * int64_t{sizeof(T)} <= internal::kCache;
  return fits ? kMany : internal::kFewLines<T>;
}

template <typename T>
void RunSplineFilter(const SplineFilter<T>& call, int64_t begin, int64_t end) {
  const int64_t at_once = SplineLinesAtOnce<T>(call.n);
  // Lanes that no line uses are 0.
  const std::unique_ptr<T[]> copies(new T[call.n * at_once]());
  for (int64_t next; begin < end; begin = next) {
    next = std::min(end, begin + at_once);
    const int used = static_cast<int>(next - begin);
    if (used == 1) {
      internal::FilterGroup<1>(call, begin, used, copies.get());
    } else if (used <= internal::kFewLines<T>) {
      internal::FilterGroup<internal::kFewLines<T>>(call, begin, used,
                                                    copies.get());
    } else {
      internal::FilterGroup<internal::kManyLines<T>>(call, begin, used,
                                                     copies.get());
    }
  }
}

#define XLA_FFI_OPS_INSTANTIATE(T)                \
  template int64_t SplineLinesAtOnce<T>(int64_t); \
  template void RunSplineFilter(const SplineFilter<T>&, int64_t, int64_t);
XLA_FFI_OPS_INSTANTIATE(float)
XLA_FFI_OPS_INSTANTIATE(double)
#undef XLA_FFI_OPS_INSTANTIATE

}  // namespace xla_ffi_ops
