// SPDX-License-Identifier: Apache-2.0
// What runs a formula (formula.h) over rows, on every device. The functions are
// only declared here: the .cc of an op includes cpu_kernels.h, its .cu
// rows/cuda/launch_rows.cuh, and both compile them for the formulas of the op.
#ifndef XLA_FFI_OPS_ROWS_RUN_FORMULA_H_
#define XLA_FFI_OPS_ROWS_RUN_FORMULA_H_

#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/rows/workspace.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/row_map.h"
#include "xla_ffi_ops/vec/types.h"

namespace xla_ffi_ops {

// A part of the work on long rows, on the CPU: one phase for some columns. The
// phases are the passes, and then the outputs. A phase needs the results of the
// phase before for all columns.
struct RowPart {
  static constexpr int64_t kAll = -1;

  XLA_FFI_OPS_HD bool Has(int64_t p) const {
    return phase == p || phase == kAll;
  }
  XLA_FFI_OPS_HD bool Ends(int64_t p) const {
    return phase == kAll || (phase == p && ends);
  }

  int64_t phase;
  int64_t begin, end;  // columns
  bool ends;           // only combines the statistics of all columns
  void* known;         // a Formula::Row for each row
  void* statistics;    // two numbers for each piece of each row
};

// Rows begin to begin + groups * rows. Those of a group are next to each other;
// each group has its own sums over its rows.
struct RowRange {
  int64_t begin;
  int64_t groups;
  int64_t rows;  // of a group
  int64_t cols;
  // Null for all of the work. Sums over rows begin at the part's first column.
  const RowPart* part = nullptr;
  // On the CPU, whether the arrays of the call are larger than caches.
  bool uncached = false;
};

// Operands of one kind, of which an op may have none.
template <typename T, int n>
struct Operands {
  T operand[n > 0 ? n : 1];

  XLA_FFI_OPS_HD T& operator[](int i) { return operand[i]; }
  XLA_FFI_OPS_HD const T& operator[](int i) const { return operand[i]; }
};
template <typename T, typename... Same>
Operands(T, Same...) -> Operands<T, 1 + sizeof...(Same)>;

// For formulas without weights, or without sums over rows.
template <typename W>
inline constexpr Operands<Rows<const W>, 0> kNoWeights = {};
template <typename T, typename W>
inline constexpr Operands<Workspace<W, Accumulator<T>>, 0> kNoSums = {};

// The arrays of a call: T is the type of what each row has, W that of weights.
// The data of a weight that is absent is null.
template <typename Formula, typename T, typename W>
struct RowArrays {
  static_assert(Formula::kInputs > 0 && Formula::kOutputs > 0,
                "A formula reads rows, and stores rows of the same size.");

  Operands<Rows<const T>, Formula::kInputs> inputs;
  Operands<Rows<const W>, Formula::Weights::kSize> weights;
  Operands<T*, Formula::kOutputs> outputs;  // null if not wanted
};

// Where a device leaves a sum over the rows of each group, of which a call has
// Formula::kSums: in [groups, cols] on the CPU; nowhere if that is null.
template <typename Device, typename T, typename W>
using SumOf = std::conditional_t<std::is_same_v<Device, Cuda>,
                                 Workspace<W, Accumulator<T>>, Accumulator<T>*>;

template <typename Formula, typename T, typename W>
void RunFormula(Cpu, const Formula& formula, const RowRange& range,
                const RowArrays<Formula, T, W>& arrays,
                const Operands<SumOf<Cpu, T, W>, Formula::kSums>& sums);
template <typename Formula, typename T, typename W>
void RunFormula(Cuda device, const Formula& formula, const RowRange& range,
                const RowArrays<Formula, T, W>& arrays,
                const Operands<SumOf<Cuda, T, W>, Formula::kSums>& sums);

namespace internal {

// A formula is a template of its accumulator, or of the type of the rows, if it
// rounds to that, and the accumulator.
template <template <typename...> class Formula, typename T>
Formula<T, Accumulator<T>> FormulaFor(int);
template <template <typename...> class Formula, typename T>
Formula<Accumulator<T>> FormulaFor(long);  // NOLINT: worse than an int

}  // namespace internal

// The formula for rows of T.
template <template <typename...> class Formula, typename T>
using FormulaOf = decltype(internal::FormulaFor<Formula, T>(0));

template <typename Device, typename Formula, typename T, typename W>
using Kernel = void (*)(Device, const Formula&, const RowRange&,
                        const RowArrays<Formula, T, W>&,
                        const Operands<SumOf<Device, T, W>, Formula::kSums>&);

// All kernels of a formula on a device: `template struct Kernels<...>;`
// compiles them. RowTypes is a DeviceTypes.
template <typename Device, template <typename...> class Formula,
          typename RowTypes>
struct Kernels {
  // What is named is compiled.
  static void NameAll(void (*name)(const void*)) {
    ForEachType(typename RowTypes::template On<Device>(), [=](auto t) {
      using T = TypeOf<decltype(t)>;
      using F = FormulaOf<Formula, T>;
      using Weights =
          std::conditional_t<F::Weights::kSize == 0, Types<T>, WeightTypes<T>>;
      ForEachType(Weights(), [=](auto w) {
        const Kernel<Device, F, T, TypeOf<decltype(w)>> kernel = RunFormula;
        name(reinterpret_cast<const void*>(kernel));
      });
    });
  }
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_RUN_FORMULA_H_
