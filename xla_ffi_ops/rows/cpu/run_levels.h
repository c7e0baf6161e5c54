// SPDX-License-Identifier: Apache-2.0
// Compiles run_rows.h for each level of x86-64, for the kinds of calls that a
// formula has.
#ifndef XLA_FFI_OPS_ROWS_CPU_RUN_LEVELS_H_
#define XLA_FFI_OPS_ROWS_CPU_RUN_LEVELS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "xla_ffi_ops/rows/cpu/long_sums.h"
#include "xla_ffi_ops/rows/cpu/outputs.h"
#include "xla_ffi_ops/rows/cpu/row_pieces.h"
#include "xla_ffi_ops/rows/cpu/run_rows.h"
#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops::internal {

template <typename F, typename T>
struct PieceArrays {
  using Acc = Accumulator<T>;
  using In =
      std::conditional_t<std::is_same_v<T, Acc>, InputRows<Acc>, HalfRows<T>>;

  Operands<In, F::kInputs> inputs;
  Operands<InputRows<Acc>, F::Weights::kSize> weights;
  Operands<OutputRows<T>, F::kOutputs> outputs;
  int most_level = 4;
  bool past = false;  // whether results go past the caches
};

// A kernel has all weights or none, and computes all sums or none: one for each
// choice would take long to compile.
enum class Kind { kPlain, kWeighted, kSummed };

template <Kind kind, bool past, int level, typename F, typename T, size_t... i,
          size_t... w>
XLA_FFI_OPS_HD void StoreBlockOfKind(
    const F& f, int64_t begin, int64_t end, int64_t cols, const RowPart& part,
    PieceArrays<F, T>& arrays, const Outputs<Accumulator<T>, F::kSums>& columns,
    std::index_sequence<i...>, std::index_sequence<w...>) {
  const auto run = [&](const auto& sums, auto&&... in) XLA_FFI_OPS_INLINED {
    StoreBlock<level, past>(f, begin, end, cols, part, arrays.outputs, sums,
                            in...);
  };
  const Outputs<Accumulator<T>, 0> no_sums = {};
  if constexpr (kind == Kind::kPlain) {
    run(no_sums, arrays.inputs[i]..., AbsentRows<typename F::Weights, w>()...);
  } else if constexpr (kind == Kind::kWeighted) {
    run(no_sums, arrays.inputs[i]..., arrays.weights[w]...);
  } else {
    run(columns, arrays.inputs[i]..., arrays.weights[w]...);
  }
}

// Whether results may go past the caches. With 16 bits, this pays where stores
// are half of the traffic, and for softmax and its gradient. With StoreAdded,
// float and double take up to 1.1 times as long.
template <typename F, typename T>
inline constexpr bool kMayStorePast =
#ifdef XLA_FFI_OPS_CPU_LEVELS
    kIs16BitFloat<T> ? F::kInputs <= F::kOutputs ||
                           (F::kPasses > 0 && F::Weights::kSize == 0)
                     : !kStoresAdded<F>;
#else
    false;
#endif

// Rows [begin, end).
template <Kind kind, typename F, typename T>
void BlockAtLevel(const F& f, int64_t begin, int64_t end, int64_t cols,
                  const RowPart& part, PieceArrays<F, T>& arrays,
                  const Outputs<Accumulator<T>, F::kSums>& columns) {
  // Code for both ways to store takes 1.1 to 1.3 times as long as that for one.
  const auto run = [&](auto past) {
    constexpr bool kPast = decltype(past)::value;
    // Past the caches, float and double run at level 3 only.
    constexpr int most = kPast && !kIs16BitFloat<T> ? 3 : 4;
    AtCpuLevel<kPast ? 3 : 0>(
        [=, &f, &arrays, &columns](auto level) XLA_FFI_OPS_INLINED {
          if constexpr (level <= most) {
            StoreBlockOfKind<kind, kPast, level>(
                f, begin, end, cols, part, arrays, columns,
                std::make_index_sequence<F::kInputs>(),
                std::make_index_sequence<F::Weights::kSize>());
          }
        },
        std::min(most, arrays.most_level));
  };
  if constexpr (kMayStorePast<F, T>) {
    if (arrays.past) return run(std::true_type());
  }
  run(std::false_type());
}

// The rows [begin, end) of one group.
template <typename F, typename T>
void GroupAtLevel(const F& f, int64_t begin, int64_t end, int64_t cols,
                  const RowPart& part, Kind kind, PieceArrays<F, T>& arrays,
                  const Operands<Accumulator<T>*, F::kSums>& sums) {
  if (kind == Kind::kPlain) {
    return BlockAtLevel<Kind::kPlain>(f, begin, end, cols, part, arrays, {});
  }
  if constexpr (F::Weights::kSize > 0) {
    if (kind == Kind::kWeighted) {
      return BlockAtLevel<Kind::kWeighted>(f, begin, end, cols, part, arrays,
                                           {});
    }
  }
  if constexpr (F::kSums > 0) {
    const int64_t summed = part.Has(F::kPasses) ? part.end - part.begin : 0;
    LongSums<Accumulator<T>, F::kSums> long_sums(sums.operand, summed,
                                                 end - begin);
    int64_t row = begin;
    do {
      const int64_t stop = std::min(end, row + kSumBlockRows);
      BlockAtLevel<Kind::kSummed>(f, row, stop, cols, part, arrays,
                                  long_sums.Begin());
      long_sums.Add();
      row = stop;
    } while (row < end);
    long_sums.Finish();
  }
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_ROWS_CPU_RUN_LEVELS_H_
