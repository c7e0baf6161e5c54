// SPDX-License-Identifier: Apache-2.0
// Runs a formula (formula.h) over rows on the CPU.
//
// The code is shaped by what g++ 12 vectorizes in a function of several clones,
// for which it settles some things before it clones: `simd reduction` and
// variables in memory are limited to 16 lanes.
#ifndef XLA_FFI_OPS_KIT_RUN_ROWS_H_
#define XLA_FFI_OPS_KIT_RUN_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/float16.h"
#include "xla_ffi_ops/kit/formula.h"
#include "xla_ffi_ops/kit/rows.h"

namespace xla_ffi_ops {

// n outputs of the same rows.
template <typename T, int n>
struct Outputs {
  T* data[n];

  HD Outputs At(int64_t offset) const {
    Outputs at = *this;
    for (int i = 0; i < n; ++i) at.data[i] += offset;
    return at;
  }
};
template <typename T, typename... Same>
Outputs(T*, Same*...) -> Outputs<T, 1 + sizeof...(Same)>;

// fn(weight), or fn(Absent()) for a weight that is not there. Mark fn inlined.
template <typename Absent, typename W, typename Fn>
HD void IfThere(const Rows<const W>& weight, Fn fn) {
  if (weight.data != nullptr) {
    fn(weight);
  } else {
    fn(Absent());
  }
}
template <typename Weight>
inline constexpr bool kIsThere = true;
template <>
inline constexpr bool kIsThere<Ones> = false;
template <>
inline constexpr bool kIsThere<Zeros> = false;

// Where the sums over rows of the terms of Column go: [kCount, cols], without
// those of weights that are not there.
template <typename Acc, bool first = false, bool second = false>
struct Columns {
  static constexpr bool kFirst = first, kSecond = second;
  static constexpr int kCount = first + second;
  Acc* data;
};
template <typename Acc, typename... Weight>
HD Columns<Acc, kIsThere<Weight>...> ColumnsOf(Acc* sums, const Weight&...) {
  return {sums};
}
using NoColumns = Columns<void>;

namespace internal {

template <typename T>
HD Accumulator<T> Widen(const T& value) {
  return value;
}

// Every kLanes-th element is of one lane, in blocks: the rounding error of a sum
// grows with 256 + cols / (256 kLanes), and the order of the additions is that
// of every vector width.
template <int kLanes, typename S, typename Acc, typename Element>
HD S Total(int64_t cols, Element element) {
  constexpr int n = sizeof(S) / sizeof(Acc);
  constexpr int64_t kBlock = 256 * kLanes;
  S total = S::Initial();
  for (int64_t begin = 0; begin < cols; begin += kBlock) {
    const int64_t end = std::min(cols, begin + kBlock);
    Acc lane[n][kLanes];
    for (int i = 0; i < n; ++i) {
      std::fill_n(lane[i], kLanes, S::Initial().value[i]);
    }
    const auto get = [&](int k) INLINED {
      S s;
      for (int i = 0; i < n; ++i) s.value[i] = lane[i][k];
      return s;
    };
    const auto set = [&](int k, S s) INLINED {
      for (int i = 0; i < n; ++i) lane[i][k] = s.value[i];
    };
    const auto add = [&](int64_t j, int lanes) INLINED {
#pragma omp simd
      for (int k = 0; k < lanes; ++k) {
        S s = get(k);
        s.Combine(element(j + k));
        set(k, s);
      }
    };
    int64_t j = begin;
    for (; j + kLanes <= end; j += kLanes) add(j, kLanes);
    add(j, static_cast<int>(end - j));
    for (int half = kLanes / 2; half > 0; half /= 2) {
#pragma omp simd
      for (int k = 0; k < half; ++k) {
        S s = get(k);
        s.Combine(get(k + half));
        set(k, s);
      }
    }
    total.Combine(get(0));
  }
  return total;
}

template <int kLanes, int p, typename Acc, typename F, typename... Line>
HD void RunPasses(const F& f, typename F::Row& row, int64_t cols,
                  Line... x) {
  if constexpr (p < F::kPasses) {
    using S = decltype(f.Add(Pass<p>(), row, Widen(x[0])...));
    const auto known = row;
    const auto element = [=](int64_t j) INLINED {
      return f.Add(Pass<p>(), known, Widen(x[j])...);
    };
    f.Finish(Pass<p>(), row, Total<kLanes, S, Acc>(cols, element),
             static_cast<Acc>(cols));
    RunPasses<kLanes, p + 1, Acc>(f, row, cols, x...);
  }
}

// The inputs are values: as an output could be one of them, they would be
// loaded again behind the store. `sums` is no reference, and so no variable in
// memory.
template <typename F, typename T, int n, typename Columns, typename Sums,
          typename... Acc>
HD Sums StoreOne(const F& f, const typename F::Row& row,
                 const Outputs<T, n>& out, int64_t j, Columns, Sums sums,
                 Acc... x) {
  const auto values = f.Store(row, x...);
  out.data[0][j] = values.value[0];
  if constexpr (n > 1) out.data[1][j] = values.value[1];
  if constexpr (Columns::kCount > 0) {
    const auto terms = f.Column(row, x...);
    if constexpr (Columns::kFirst) sums.value[0] += terms.value[0];
    if constexpr (Columns::kSecond) sums.value[1] += terms.value[1];
  }
  return sums;
}

// Of one operand, for kRows rows.
template <typename Line, int kRows>
struct Lines {
  Line line[kRows];
};
template <typename Line, typename... Same>
Lines(Line, Same...) -> Lines<Line, 1 + sizeof...(Same)>;

// Rows i, i + 1, ... at j. No loop over i: that is unrolled too late for its
// structs to become variables.
template <int i, int kRows, typename F, typename Out, typename Columns,
          typename Sums, typename... Line>
HD Sums StoreFrom(const F& f, const typename F::Row* row, int64_t cols,
                  int64_t j, const Out& out, Columns columns, Sums sums,
                  const Lines<Line, kRows>&... x) {
  if constexpr (i == kRows) {
    return sums;
  } else {
    sums = StoreOne(f, row[i], out, i * cols + j, columns, sums,
                    Widen(x.line[i][j])...);
    return StoreFrom<i + 1>(f, row, cols, j, out, columns, sums, x...);
  }
}

template <int kRows, typename F, typename T, int n, typename Columns,
          typename... Line>
HD void RunLines(const F& f, int64_t begin, int64_t cols, Outputs<T, n> out,
                 Columns columns, const Lines<Line, kRows>&... x) {
  using Acc = Accumulator<T>;
  typename F::Row row[kRows];
  for (int i = 0; i < kRows; ++i) {
    row[i] = f.Load(begin + i);
    RunPasses<64 / sizeof(T), 0, Acc>(f, row[i], cols, x.line[i]...);
    f.Save(begin + i, row[i]);
  }
  out = out.At(begin * cols);
#pragma omp simd
  for (int64_t j = 0; j < cols; ++j) {
    const Sums<Acc, 2> sums =
        StoreFrom<0>(f, row, cols, j, out, columns, Sums<Acc, 2>(), x...);
    if constexpr (Columns::kFirst) columns.data[j] += sums.value[0];
    if constexpr (Columns::kSecond) {
      columns.data[Columns::kFirst * cols + j] += sums.value[1];
    }
  }
}

}  // namespace internal

// Rows [begin, end) of the outputs, and in `columns` the sums over these rows.
// In: Rows<const T>, Ones or Zeros. Call it from an XLA_FFI_OPS_CPU_KERNEL.
template <typename F, typename T, int n, typename Columns, typename... In>
HD void RunRows(Cpu, const F& f, int64_t begin, int64_t end, int64_t cols,
                Outputs<T, n> out, Columns columns, const In&... in) {
  using internal::Lines, internal::RunLines;
  int64_t row = begin;
  if constexpr (Columns::kCount > 0) {
    std::fill_n(columns.data, Columns::kCount * cols, 0);
    // Four rows at once: the columns are read and written once for all.
    for (; row + 4 <= end; row += 4) {
      RunLines<4>(f, row, cols, out, columns,
                  Lines{in[row], in[row + 1], in[row + 2], in[row + 3]}...);
    }
  }
  for (; row < end; ++row) {
    RunLines<1>(f, row, cols, out, columns, Lines{in[row]}...);
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_KIT_RUN_ROWS_H_
