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
#include <vector>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/float16.h"
#include "xla_ffi_ops/kit/formula.h"
#include "xla_ffi_ops/kit/rows.h"

namespace xla_ffi_ops {

// What is written: n arrays of the same rows.
template <typename T, int n>
struct Outputs {
  T* data[n > 0 ? n : 1];

  HD Outputs At(int64_t offset) const {
    Outputs at = *this;
    for (int i = 0; i < n; ++i) at.data[i] += offset;
    return at;
  }
};
template <typename T, typename... Same>
Outputs(T*, Same*...) -> Outputs<T, 1 + sizeof...(Same)>;

template <typename Acc>
inline constexpr Outputs<Acc, 0> kNoSums = {};

// A weight, or rows of `value` if it is not there. For ops of several weights:
// a kernel for each choice of them would take long to compile.
template <typename W>
class OrFilled {
 public:
  OrFilled(const Rows<const W>& weight, float value, int64_t cols)
      : rows_(weight) {
    if (weight.data != nullptr) return;
    memory_.assign(cols, W(value));
    rows_ = {memory_.data(), cols, {}};
  }
  OrFilled(const OrFilled&) = delete;

  HD const W* operator[](int64_t row) const { return rows_[row]; }

 private:
  Rows<const W> rows_;
  std::vector<W> memory_;
};

// Where several weights' gradients go: to `sums`, one behind the other for the
// weights that are there, and out of the way for the others.
template <typename Acc, int n>
class WeightSums {
 public:
  template <typename... W>
  WeightSums(Acc* sums, int64_t cols, const Rows<const W>&... weight) {
    int i = 0;
    for (const bool there : {weight.data != nullptr...}) {
      if (!there) unused_.resize(cols);
      outputs.data[i++] = there ? sums : unused_.data();
      if (there) sums += cols;
    }
  }
  WeightSums(const WeightSums&) = delete;

  Outputs<Acc, n> outputs;

 private:
  std::vector<Acc> unused_;
};
template <typename Acc, typename... W>
WeightSums(Acc*, int64_t, const Rows<const W>&...)
    -> WeightSums<Acc, sizeof...(W)>;

namespace internal {

template <typename T>
HD Accumulator<T> Widen(const T& value) {
  return value;
}

// Combines the elements of a row in kLanes lanes: element j is in lane
// j % kLanes. It works in blocks, so the rounding error of a sum grows only
// with 256 + cols / (256 kLanes). The order of the additions is the same for
// every vector width. Each number of a statistic has its own array of lanes:
// g++ does not vectorize an array of statistics of two numbers. Before each
// kLanes elements it calls ahead(j).
template <int kLanes, typename S, typename Acc, typename Element,
          typename Ahead>
HD S Total(int64_t cols, Element element, Ahead ahead) {
  constexpr int n = sizeof(S) / sizeof(Acc);
  constexpr int64_t kBlock = 256 * kLanes;
  S total = S::Initial();
  for (int64_t begin = 0; begin < cols; begin += kBlock) {
    const int64_t end = std::min(cols, begin + kBlock);
    Acc a[kLanes], b[kLanes];
    std::fill_n(a, kLanes, S::Initial().value[0]);
    if constexpr (n > 1) std::fill_n(b, kLanes, S::Initial().value[1]);
    const auto add = [&](int64_t j, int lanes) INLINED {
#pragma omp simd
      for (int k = 0; k < lanes; ++k) {
        const S s = element(j + k);
        a[k] = S::Combine(a[k], s.value[0]);
        if constexpr (n > 1) b[k] = S::Combine(b[k], s.value[1]);
      }
    };
    int64_t j = begin;
    for (; j + kLanes <= end; j += kLanes) {
      ahead(j);
      add(j, kLanes);
    }
    add(j, static_cast<int>(end - j));
    for (int half = kLanes / 2; half > 0; half /= 2) {
#pragma omp simd
      for (int k = 0; k < half; ++k) {
        a[k] = S::Combine(a[k], a[k + half]);
        if constexpr (n > 1) b[k] = S::Combine(b[k], b[k + half]);
      }
    }
    total.value[0] = S::Combine(total.value[0], a[0]);
    if constexpr (n > 1) total.value[1] = S::Combine(total.value[1], b[0]);
  }
  return total;
}

// `added` is where the numbers that the last pass adds go, or nullptr.
template <int kLanes, int p, typename Acc, typename F, typename Ahead,
          typename Added, typename... Line>
HD void RunPasses(const F& f, typename F::Row& row, int64_t cols, Ahead ahead,
                  Added added, Line... x) {
  if constexpr (p < F::kPasses) {
    using S = decltype(f.Add(Pass<p>(), row, Widen(x[0])...));
    const auto known = row;
    const auto element = [=](int64_t j) INLINED {
      const S s = f.Add(Pass<p>(), known, Widen(x[j])...);
      if constexpr (p + 1 == F::kPasses && std::is_pointer_v<Added>) {
        added[j] = s.value[0];
      }
      return s;
    };
    f.Finish(Pass<p>(), row, Total<kLanes, S, Acc>(cols, element, ahead),
             static_cast<Acc>(cols));
    RunPasses<kLanes, p + 1, Acc>(f, row, cols, ahead, added, x...);
  }
}

// The inputs are values: as an output could be one of them, they would be
// loaded again behind the store. `sums` is no reference, and so no variable in
// memory.
template <int m, typename F, typename T, int n, typename Sums, typename... Acc>
HD Sums StoreOne(const F& f, const typename F::Row& row,
                 const Outputs<T, n>& out, int64_t j, Sums sums, Acc... x) {
  const auto values = f.Store(row, x...);
  out.data[0][j] = values.value[0];
  if constexpr (n > 1) out.data[1][j] = values.value[1];
  if constexpr (m > 0) sums.Combine(f.Column(row, x...));
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
template <int m, int i, int kRows, typename F, typename Out, typename Sums,
          typename... Line>
HD Sums StoreFrom(const F& f, const typename F::Row* row, int64_t cols,
                  int64_t j, const Out& out, Sums sums,
                  const Lines<Line, kRows>&... x) {
  if constexpr (i == kRows) {
    return sums;
  } else {
    sums =
        StoreOne<m>(f, row[i], out, i * cols + j, sums, Widen(x.line[i][j])...);
    return StoreFrom<m, i + 1>(f, row, cols, j, out, sums, x...);
  }
}

template <int kRows, typename F, typename T, int n, typename Acc, int m,
          typename... Line>
HD void RunLines(const F& f, int64_t begin, int64_t cols, Outputs<T, n> out,
                 Outputs<Acc, m> columns, const Lines<Line, kRows>&... x) {
  constexpr int kLanes = 64 / sizeof(T);  // of a cache line
  typename F::Row row[kRows];
  out = out.At(begin * cols);
  // Stores to several rows in turn wait long for lines that are not in the
  // cache, up to a third of the time: the passes prefetch these lines. With
  // more than 1024 columns that costs more than it saves.
  const int64_t fetched = cols <= 1024 ? -1 : 0;
  for (int i = 0; i < kRows; ++i) {
    const auto fetch = [=](int64_t j) INLINED {
      if constexpr (kRows > 1) {
        for (int k = 0; k < n; ++k) {
          __builtin_prefetch(out.data[k] + i * cols + (j & fetched), 1);
        }
      }
    };
    row[i] = f.Load(begin + i);
    RunPasses<kLanes, 0, Acc>(f, row[i], cols, fetch, nullptr, x.line[i]...);
    f.Save(begin + i, row[i]);
  }
#pragma omp simd
  for (int64_t j = 0; j < cols; ++j) {
    const auto sums = StoreFrom<m, 0>(f, row, cols, j, out,
                                      Sums<Acc, std::max(m, 1)>(), x...);
    if constexpr (m > 0) columns.data[0][j] += sums.value[0];
    if constexpr (m > 1) columns.data[1][j] += sums.value[1];
  }
}

template <typename F, typename = void>
struct StoresAdded : std::false_type {};
template <typename F>
struct StoresAdded<F, std::void_t<decltype(&F::StoreAdded)>> : std::true_type {
};

// One row of a formula that has StoreAdded, and no weights. Such passes compute
// much: they fetch the next row and the lines that this one is stored to.
template <typename F, typename T, typename Acc, typename... Same>
HD void RunLineByAdded(const F& f, int64_t i, int64_t cols, T* y, Acc* added,
                       const Same*... x) {
  const auto fetch = [=](int64_t j) INLINED {
    __builtin_prefetch(y + j, 1);
    (__builtin_prefetch(x + cols + j), ...);
  };
  typename F::Row row = f.Load(i);
  RunPasses<64 / sizeof(T), 0, Acc>(f, row, cols, fetch, added, x...);
  f.Save(i, row);
#pragma omp simd
  for (int64_t j = 0; j < cols; ++j)
    y[j] = f.StoreAdded(row, added[j]).value[0];
}

}  // namespace internal

// Rows [begin, end) of `out`, and in columns[m][0, cols) the sums over these
// rows. In: Rows, Ones, Zeros or OrFilled. Call it from an
// XLA_FFI_OPS_CPU_KERNEL.
template <typename F, typename T, int n, typename Acc, int m, typename... In>
HD void RunRows(Cpu, const F& f, int64_t begin, int64_t end, int64_t cols,
                Outputs<T, n> out, Outputs<Acc, m> columns, const In&... in) {
  using internal::Lines, internal::RunLines;
  int64_t row = begin;
  if constexpr (m > 0) {
    for (int i = 0; i < m; ++i) std::fill_n(columns.data[i], cols, 0);
    // Four rows at once: the columns are read and written once for all.
    for (; row + 4 <= end; row += 4) {
      RunLines<4>(f, row, cols, out, columns,
                  Lines{in[row], in[row + 1], in[row + 2], in[row + 3]}...);
    }
  }
  // Of longer rows, the numbers would not stay in the cache.
  if constexpr (internal::StoresAdded<F>()) {
    if (cols <= 65536) {
      std::vector<Acc> added(cols);
      for (; row < end; ++row) {
        internal::RunLineByAdded(f, row, cols, out.data[0] + row * cols,
                                 added.data(), in[row]...);
      }
    }
  }
  for (; row < end; ++row) {
    RunLines<1>(f, row, cols, out, columns, Lines{in[row]}...);
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_KIT_RUN_ROWS_H_
