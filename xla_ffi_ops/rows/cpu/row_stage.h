// SPDX-License-Identifier: Apache-2.0
// A formula over rows on the CPU, with what is decided once for a call: how its
// arrays are read and stored.
#ifndef XLA_FFI_OPS_ROWS_CPU_ROW_STAGE_H_
#define XLA_FFI_OPS_ROWS_CPU_ROW_STAGE_H_

#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/rows/cpu/row_pieces.h"
#include "xla_ffi_ops/rows/cpu/run_levels.h"
#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/fresh_pages.h"
#include "xla_ffi_ops/vec/store_vector.h"

namespace xla_ffi_ops::internal {

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
    // Memory is read faster with two loads for a line than with one: a Zen 4
    // takes 0.83 to 0.9 times as long. Conversions want wide vectors.
    if (range.uncached && std::is_same_v<T, Acc>) pieces_.most_level = 3;
    const Stores stores = StoresOf(range, arrays);
    pieces_.past = stores == Stores::kNonTemporal;
    for (int i = 0; i < F::kOutputs; ++i) {
      pieces_.outputs[i] = OutputRows<T>(arrays.outputs[i], cols_, stores);
    }
  }

  // Rows [begin, end), of one group.
  void Run(int64_t begin, int64_t end, const Sums& sums) {
    GroupAtLevel(formula_, begin, end, cols_, part_, kind_, pieces_, sums);
#ifdef XLA_FFI_OPS_CPU_LEVELS
    // Other threads see such stores only after a fence.
    if (pieces_.past) asm volatile("sfence" : : : "memory");
#endif
  }

 private:
  Stores StoresOf(const RowRange& range,
                  const RowArrays<F, T, W>& arrays) const {
    if (!range.uncached) return Stores::kPlain;
    bool nontemporal =
        kMayStorePast<F, T> && CpuLevel() >= 3 && PrefersNonTemporal();
    // So softmax of 16 bits takes 0.75 to 1.0 times as long, and its gradient
    // 0.6 to 1.05; but with rows of a page or less, up to 1.4 times.
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
    // caches then took 1.15 times as long, and stores of fetched lines 1.02.
    if (fresh) return Stores::kPlain;
    if (nontemporal) return Stores::kNonTemporal;
    // Without weights, rows of 16 bits take 0.65 to 1.0 times as long if no
    // line of their output is fetched.
    return kIs16BitFloat<T> && kind_ == Kind::kPlain ? Stores::kPlain
                                                     : Stores::kFetched;
  }

  const F& formula_;
  int64_t cols_;
  RowPart part_{RowPart::kAll, 0, cols_, false, nullptr, nullptr};
  Kind kind_ = Kind::kPlain;
  PieceArrays<F, T> pieces_;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_ROWS_CPU_ROW_STAGE_H_
