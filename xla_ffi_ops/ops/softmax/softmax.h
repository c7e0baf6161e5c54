// SPDX-License-Identifier: Apache-2.0
// Softmax of rows, forward and backward:
//
//   y[j]  = exp(x[j] - max_k(x[k])) / sum_k(exp(x[k] - max))
//   dx[j] = y[j] * (dy[j] - sum_k(y[k] dy[k]))
//
// A row with a NaN or +inf, and one of -inf alone, is all NaN, as in
// jax.nn.softmax.
#ifndef XLA_FFI_OPS_OPS_SOFTMAX_SOFTMAX_H_
#define XLA_FFI_OPS_OPS_SOFTMAX_SOFTMAX_H_

#include <cstdint>

#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/vec/math/exp_sums.h"
#include "xla_ffi_ops/vec/types.h"

namespace xla_ffi_ops::softmax {

using RowTypes = DeviceTypes</*CpuTypes=*/FloatTypes, /*CudaTypes=*/FloatTypes>;

// Max may lose a NaN, but the sum keeps it.
template <typename T, typename Acc = Accumulator<T>>
struct ForwardFormula {
  static constexpr int kInputs = 1, kOutputs = 1, kSums = 0, kPasses = 2;
  using Weights = WeightDefaults<>;
  struct Row {
    Acc max, factor;
  };

  XLA_FFI_OPS_HD Row Load(int64_t) const { return {}; }
  XLA_FFI_OPS_HD Max<Acc> Add(Pass<0>, const Row&, Acc x) const {
    return {{x}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<0>, Row& row, Max<Acc> max, Acc) const {
    row.max = max.value[0];
  }
  XLA_FFI_OPS_HD Sums<Acc, 1> Add(Pass<1>, const Row& row, Acc x) const {
    return {{ExpUpToZeroFor<T>(x - row.max)}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<1>, Row& row, Sums<Acc, 1> sums, Acc) const {
    row.factor = 1 / sums.value[0];
  }
  XLA_FFI_OPS_HD void Save(int64_t, const Row&) const {}
  XLA_FFI_OPS_HD Values<Acc, 1> Store(const Row& row, Acc x) const {
    return StoreAdded(row, ExpUpToZeroFor<T>(x - row.max));
  }
  XLA_FFI_OPS_HD Values<Acc, 1> StoreAdded(const Row& row, Acc exp) const {
    return {{exp * row.factor}};
  }
};

template <typename Acc>
struct BackwardFormula {
  static constexpr int kInputs = 2, kOutputs = 1, kSums = 0, kPasses = 1;
  using Weights = WeightDefaults<>;
  struct Row {
    Acc sum;
  };

  XLA_FFI_OPS_HD Row Load(int64_t) const { return {}; }
  XLA_FFI_OPS_HD Sums<Acc, 1> Add(Pass<0>, const Row&, Acc y, Acc dy) const {
    return {{y * dy}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<0>, Row& row, Sums<Acc, 1> sums, Acc) const {
    row.sum = sums.value[0];
  }
  XLA_FFI_OPS_HD void Save(int64_t, const Row&) const {}
  XLA_FFI_OPS_HD Values<Acc, 1> Store(const Row& row, Acc y, Acc dy) const {
    return {{y * (dy - row.sum)}};
  }
};

}  // namespace xla_ffi_ops::softmax

#endif  // XLA_FFI_OPS_OPS_SOFTMAX_SOFTMAX_H_
