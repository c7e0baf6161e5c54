// SPDX-License-Identifier: Apache-2.0
// Runs a formula (formula.h) over a block of rows on the CPU: what
// cpu_kernels.h compiles for each level of x86-64.
//
// The code is shaped by what g++ 12 vectorizes in a function of several clones.
#ifndef XLA_FFI_OPS_KIT_RUN_ROWS_H_
#define XLA_FFI_OPS_KIT_RUN_ROWS_H_

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/formula.h"
#include "xla_ffi_ops/kit/outputs.h"
#include "xla_ffi_ops/kit/pairs.h"
#include "xla_ffi_ops/kit/row_total.h"
#include "xla_ffi_ops/kit/store_rows.h"

namespace xla_ffi_ops::internal {

// The most columns of a row of which the passes fetch the lines to be stored
// to. They have to stay in the cache until then: with 4 bytes each, a row takes
// a quarter of a second-level cache of 1 MiB, and several rows at once, which
// are read from and added to other arrays meanwhile, half of the first-level
// cache of 32 KiB.
template <int kRows>
inline constexpr int64_t kFetchedCols =
    kRows > 1 ? 16384 / (4 * 4) : 262144 / 4;

// The most columns of a row whose numbers of the last pass are kept: likewise a
// quarter of a second-level cache.
inline constexpr int64_t kKeptCols = 262144 / 4;

// `added` is where the numbers that the last pass adds go, or nullptr. There
// are no pairs then: an exponential of each of two elements needs more
// registers than there are.
template <typename T, int p, typename Acc, typename F, typename Ahead,
          typename Added, typename... Line>
XLA_FFI_OPS_HD void RunPasses(const F& f, typename F::Row& row, int64_t cols,
                              Ahead ahead, Added added, Line... x) {
  if constexpr (p < F::kPasses) {
    using S = decltype(f.Add(Pass<p>(), row, Load(kSingle, x, 0)...));
    constexpr bool kKeeps = std::is_pointer_v<Added>;
    constexpr bool kPairs = kInPairs<T> && !kKeeps;
    const auto known = row;
    const auto statistic = [=](auto which, int64_t j) XLA_FFI_OPS_INLINED {
      const S s = f.Add(Pass<p>(), known, Load(which, x, j)...);
      if constexpr (p + 1 == F::kPasses && kKeeps) added[j] = s.value[0];
      return s;
    };
    f.Finish(Pass<p>(), row, Total<T, kPairs, S, Acc>(cols, statistic, ahead),
             static_cast<Acc>(cols));
    RunPasses<T, p + 1, Acc>(f, row, cols, ahead, added, x...);
  }
}

template <int kRows, typename F, typename T, int n, typename Acc, int m,
          typename... Line>
XLA_FFI_OPS_HD void RunLines(const F& f, int64_t begin, int64_t cols,
                             Outputs<T, n> out, Outputs<Acc, m> columns,
                             const Lines<Line, kRows>&... x) {
  typename F::Row row[kRows];
  out = out.At(begin * cols);
  // Stores wait for lines that are not in the cache, up to a third of the time.
  // So the passes prefetch them. In longer rows that costs more than it saves:
  // there it is the first line again and again, which is cheaper than a branch.
  const int64_t stride = cols <= kFetchedCols<kRows> ? 1 : 0;
  for (int i = 0; i < kRows; ++i) {
    const auto fetch = [=](int64_t j) XLA_FFI_OPS_INLINED {
      for (int k = 0; k < n; ++k) {
        __builtin_prefetch(out.data[k] + i * cols + j * stride, 1);
      }
    };
    row[i] = f.Load(begin + i);
    RunPasses<T, 0, Acc>(f, row[i], cols, fetch, nullptr, x.line[i]...);
    f.Save(begin + i, row[i]);
  }
  using Terms = std::conditional_t<(m > 0), Sums<Acc, m>, None>;
  using Pair = std::conditional_t<(m > 0), Two<Terms>, None>;
  const auto store = [=](int64_t j) XLA_FFI_OPS_INLINED {
    const auto sums = StoreFrom<m, 0>(f, row, cols, j, out, Terms(), x...);
    if constexpr (m > 0) columns.data[0][j] += sums.value[0];
    if constexpr (m > 1) columns.data[1][j] += sums.value[1];
  };
  if constexpr (kInPairs<T>) {
#pragma omp simd
    for (int64_t j = 0; j < cols / 2; ++j) {
      const auto sums =
          StorePairFrom<m, 0>(f, row, cols, 2 * j, out, Pair(), x...);
      if constexpr (m > 0) {
        columns.data[0][2 * j] += sums.first.value[0];
        columns.data[0][2 * j + 1] += sums.second.value[0];
      }
      if constexpr (m > 1) {
        columns.data[1][2 * j] += sums.first.value[1];
        columns.data[1][2 * j + 1] += sums.second.value[1];
      }
    }
    if (cols % 2 != 0) store(cols - 1);
  } else {
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) store(j);
  }
}

// One row of a formula that has StoreAdded, and no weights. Such passes compute
// much: they fetch the next row and the lines that this one is stored to.
template <typename F, typename T, typename Acc, typename... Same>
XLA_FFI_OPS_HD void RunLineByAdded(const F& f, int64_t i, int64_t cols, T* y,
                                   Acc* added, const Same*... x) {
  const auto fetch = [=](int64_t j) XLA_FFI_OPS_INLINED {
    __builtin_prefetch(y + j, 1);
    (__builtin_prefetch(x + cols + j), ...);
  };
  typename F::Row row = f.Load(i);
  RunPasses<T, 0, Acc>(f, row, cols, fetch, added, x...);
  f.Save(i, row);
#pragma omp simd
  for (int64_t j = 0; j < cols; ++j) {
    y[j] = f.StoreAdded(row, added[j]).value[0];
  }
}

// Rows [begin, end); what they add to the sums over rows is added to `columns`.
// In: Rows or AbsentRows.
template <typename F, typename T, int n, typename Acc, int m, typename... In>
XLA_FFI_OPS_HD void RunBlock(const F& f, int64_t begin, int64_t end,
                             int64_t cols, Outputs<T, n> out,
                             Outputs<Acc, m> columns, const In&... in) {
  int64_t row = begin;
  if constexpr (m > 0) {
    // Several rows at once: the columns are read and written once for all.
    constexpr int kRows = kInPairs<T> ? 2 : 4;
    for (; row + kRows <= end; row += kRows) {
      constexpr std::make_index_sequence<kRows> rows;
      RunLines<kRows>(f, row, cols, out, columns, LinesAt(in, row, rows)...);
    }
  }
  if constexpr (kStoresAdded<F>) {
    if (cols <= kKeptCols) {
      std::vector<Acc> added(cols);
      for (; row < end; ++row) {
        RunLineByAdded(f, row, cols, out.data[0] + row * cols, added.data(),
                       in[row]...);
      }
    }
  }
  for (; row < end; ++row) {
    RunLines<1>(f, row, cols, out, columns, Lines{in[row]}...);
  }
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_RUN_ROWS_H_
