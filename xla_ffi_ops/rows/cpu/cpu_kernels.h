// SPDX-License-Identifier: Apache-2.0
// Compiles formulas for the CPU. An op's .cc has, for each of its formulas,
//
//   namespace xla_ffi_ops {
//   template struct Kernels<Cpu, my_op::ForwardFormula, my_op::RowTypes>;
//   }  // namespace xla_ffi_ops
//
// Handlers do not include this file: a kernel would be compiled once more, with
// other options, and either might be linked.
#ifndef XLA_FFI_OPS_ROWS_CPU_CPU_KERNELS_H_
#define XLA_FFI_OPS_ROWS_CPU_CPU_KERNELS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "xla_ffi_ops/rows/cpu/long_sums.h"
#include "xla_ffi_ops/rows/cpu/row_block.h"
#include "xla_ffi_ops/rows/cpu/row_pieces.h"
#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/memory.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops::internal {

template <typename F, typename T>
struct PieceArrays {
  using Acc = Accumulator<T>;
  using In =
      std::conditional_t<std::is_same_v<T, Acc>, InputRows<Acc>, HalfRows<T>>;

  Operands<In, F::kInputs> inputs;
  Operands<InputRows<Acc>, F::Weights::kSize> weights;
  Operands<OutputRows<T>, F::kOutputs> outputs;
  int most_level = kMostLevel;
  bool past = false;  // whether results go past the caches
};

// A kernel has all weights or none, and computes all sums or none: one for each
// choice would take long to compile.
enum class Kind { kPlain, kWeighted, kSummed };

template <Kind kind, bool past, int level, typename F, typename T, size_t... i,
          size_t... w>
XLA_FFI_OPS_HD void StoreBlockOfKind(
    const F& f, int64_t begin, int64_t end, int64_t cols, const RowPart& part,
    PieceArrays<F, T>& arrays,
    const ColumnSums<Accumulator<T>, F::kSums>& columns,
    std::index_sequence<i...>, std::index_sequence<w...>) {
  const auto run = [&](const auto& sums, auto&&... in) XLA_FFI_OPS_INLINED {
    StoreBlock<level, past>(f, begin, end, cols, part, arrays.outputs, sums,
                            in...);
  };
  const ColumnSums<Accumulator<T>, 0> no_sums = {};
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
// float and double are slower.
template <typename F, typename T>
inline constexpr bool kMayStorePast =
    kHasCpuLevels &&
    (kIs16BitFloat<T> ? F::kInputs <= F::kOutputs ||
                            (F::kPasses > 0 && F::Weights::kSize == 0)
                      : !kStoresAdded<F>);

// Rows [begin, end).
template <Kind kind, typename F, typename T>
void BlockAtLevel(const F& f, int64_t begin, int64_t end, int64_t cols,
                  const RowPart& part, PieceArrays<F, T>& arrays,
                  const ColumnSums<Accumulator<T>, F::kSums>& columns) {
  // Code for both ways to store is slower than code for one.
  const auto run = [&](auto past) {
    constexpr bool kPast = decltype(past)::value;
    // Past the caches, float and double run at this level only.
    constexpr int most = kPast && !kIs16BitFloat<T> ? kWideLevel : kMostLevel;
    AtCpuLevel<kPast ? kWideLevel : 0>(
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

// A formula over the rows of a range, whose weights are converted once.
template <typename F, typename T, typename W>
class RowLoop {
  using Acc = Accumulator<T>;
  using Sums = Operands<SumOf<Cpu, T, W>, F::kSums>;

 public:
  RowLoop(const F& formula, const RowRange& range,
          const RowArrays<F, T, W>& arrays, const Sums& sums)
      : formula_(formula), cols_(range.cols) {
    if (range.part != nullptr) part_ = *range.part;
    for (int i = 0; i < F::Weights::kSize; ++i) {
      if (arrays.weights[i].data != nullptr) kind_ = Kind::kWeighted;
    }
    for (int i = 0; i < F::kSums; ++i) {
      if (sums[i] != nullptr) kind_ = Kind::kSummed;
    }
    // Without rows, there may be no memory behind an array, not even for
    // weights.
    const bool has_rows = range.groups > 0 && range.rows > 0;
    for (int i = 0; i < F::kInputs && has_rows; ++i) {
      pieces_.inputs[i] = typename PieceArrays<F, T>::In(arrays.inputs[i]);
    }
    for (int i = 0; i < F::Weights::kSize && has_rows && kind_ != Kind::kPlain;
         ++i) {
      pieces_.weights[i] = arrays.weights[i].data == nullptr
                               ? InputRows<Acc>(F::Weights::Absent(i), cols_)
                               : InputRows<Acc>(arrays.weights[i]);
    }
    // Memory is read faster with two loads for a line than with one.
    // Conversions want wide vectors.
    if (range.uncached && std::is_same_v<T, Acc>) {
      pieces_.most_level = kWideLevel;
    }
    const Stores stores = StoresOf(range, arrays);
    pieces_.past = stores == Stores::kNonTemporal;
    for (int i = 0; i < F::kOutputs; ++i) {
      pieces_.outputs[i] = OutputRows<T>(arrays.outputs[i], cols_, stores);
    }
  }

  // Rows [begin, end), of one group.
  void Run(int64_t begin, int64_t end, const Sums& sums) {
    GroupAtLevel(formula_, begin, end, cols_, part_, kind_, pieces_, sums);
    if (pieces_.past) FenceStores();
  }

 private:
  Stores StoresOf(const RowRange& range,
                  const RowArrays<F, T, W>& arrays) const {
    if (!range.uncached) return Stores::kPlain;
    bool nontemporal =
        kMayStorePast<F, T> && CpuLevel() >= kWideLevel && PrefersNonTemporal();
    // So softmax of 16 bits and its gradient are faster, but slower with rows
    // of a page or less.
    if (kIs16BitFloat<T> && F::Weights::kSize == 0) {
      nontemporal &= cols_ * sizeof(T) > kPageBytes;
    }
    const int64_t middle = range.begin + range.groups * range.rows / 2;
    bool fresh = false;
    for (int i = 0; i < F::kOutputs; ++i) {
      const T* const output = arrays.outputs[i];
      nontemporal &= output != nullptr &&
                     BeforeLine(output) == BeforeLine(arrays.outputs[0]);
      for (int k = 0; k < F::kInputs; ++k) {  // In place, lines are there.
        nontemporal &= output != arrays.inputs[k].data;
      }
      fresh |=
          output != nullptr && IsFreshPage(reinterpret_cast<uintptr_t>(output) +
                                           middle * cols_ * sizeof(T));
    }
    // The system has just cleared a fresh page, in the caches. Stores past the
    // caches are slower then, and so are stores of fetched lines.
    if (fresh) return Stores::kPlain;
    if (nontemporal) return Stores::kNonTemporal;
    // Without weights, rows of 16 bits are faster if no line of their output is
    // fetched.
    return kIs16BitFloat<T> && kind_ == Kind::kPlain ? Stores::kPlain
                                                     : Stores::kFetched;
  }

  const F& formula_;
  int64_t cols_;
  RowPart part_{RowPart::kAll, 0, cols_, false, nullptr, nullptr};
  Kind kind_ = Kind::kPlain;
  PieceArrays<F, T> pieces_;
};

// First and then Rest, for so many rows that the results of First stay in the
// cache.
template <typename F, typename T, typename W>
void FirstAndRest(const F& formula, const RowRange& range,
                  const RowArrays<F, T, W>& arrays) {
  const int64_t end = range.begin + range.groups * range.rows;
  const int64_t most =
      kCachedCols / std::clamp<int64_t>(range.cols, 1, kCachedCols);
  T* const between = arrays.outputs[1];
  // Rest reads the results of First: these stay in the caches.
  // In place, the lines of its own results are there.
  RowRange begun = range, last = range;
  begun.uncached = false;
  for (const auto& input : arrays.inputs.operand) {
    last.uncached &= input.data != arrays.outputs[0];
  }
  const typename F::First sum;
  RowLoop<typename F::First, T, T> first(sum, begun,
                                         {arrays.inputs, {}, {between}}, {});
  RowLoop<typename F::Rest, T, W> rest(
      formula, last,
      {{Rows<const T>{between, range.cols, {1, {1}, {1}}}},
       arrays.weights,
       {arrays.outputs[0]}},
      {});
  const bool begins =
      range.part == nullptr || (range.part->phase == 0 && !range.part->ends);
  for (int64_t row = range.begin; row < end; row += most) {
    const int64_t stop = std::min(end, row + most);
    if (begins) first.Run(row, stop, {});
    rest.Run(row, stop, {});
  }
}

}  // namespace xla_ffi_ops::internal

namespace xla_ffi_ops {

template <typename F, typename T, typename W>
void RunFormula(Cpu, const F& formula, const RowRange& range,
                const RowArrays<F, T, W>& arrays,
                const Operands<SumOf<Cpu, T, W>, F::kSums>& sums) {
  // What is not rounded is added again sooner than it is stored and loaded.
  if constexpr (kHasFirst<F> && kIs16BitFloat<T>) {
    internal::FirstAndRest(formula, range, arrays);
  } else {
    internal::RowLoop<F, T, W> loop(formula, range, arrays, sums);
    for (int64_t group = 0; group < range.groups; ++group) {
      auto group_sums = sums;
      for (int i = 0; i < F::kSums; ++i) {
        if (sums[i] != nullptr) group_sums[i] += group * range.cols;
      }
      const int64_t begin = range.begin + group * range.rows;
      loop.Run(begin, begin + range.rows, group_sums);
    }
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CPU_CPU_KERNELS_H_
