// SPDX-License-Identifier: Apache-2.0
// A residual connection and the normalization behind it:
//
//   sum[j] = x[j] + residual[j], rounded to their dtype
//   y      = rms_norm(sum), with rstd as there
//
// and, for the cotangents dy and dsum, dx = dresidual = dsum + what rms_norm
// gives for dy.
#ifndef XLA_FFI_OPS_OPS_ADD_RMS_NORM_ADD_RMS_NORM_H_
#define XLA_FFI_OPS_OPS_ADD_RMS_NORM_ADD_RMS_NORM_H_

#include <cstdint>

#include "xla_ffi_ops/ops/rms_norm/rms_norm.h"
#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/vec/types.h"

namespace xla_ffi_ops::add_rms_norm {

using RowTypes = DeviceTypes</*CpuTypes=*/FloatTypes, /*CudaTypes=*/FloatTypes>;

template <typename Acc>
struct SumFormula {
  static constexpr int kInputs = 2, kOutputs = 1, kSums = 0, kPasses = 0;
  using Weights = WeightDefaults<>;
  struct Row {};

  XLA_FFI_OPS_HD Row Load(int64_t) const { return {}; }
  XLA_FFI_OPS_HD void Save(int64_t, const Row&) const {}
  XLA_FFI_OPS_HD Values<Acc, 1> Store(const Row&, Acc x, Acc residual) const {
    return {{x + residual}};
  }
};

template <typename T, typename Acc = Accumulator<T>>
struct ForwardFormula : rms_norm::ForwardFormula<Acc> {
  static constexpr int kInputs = 2, kOutputs = 2;
  using Base = rms_norm::ForwardFormula<Acc>;
  using First = SumFormula<Acc>;
  using Rest = Base;
  using Row = typename Base::Row;

  XLA_FFI_OPS_HD Sums<Acc, 1> Add(Pass<0> pass, const Row& row, Acc x,
                                  Acc residual, Acc scale) const {
    return Base::Add(pass, row, Rounded<T>(x + residual), scale);
  }
  // y and sum.
  XLA_FFI_OPS_HD Values<Acc, 2> Store(const Row& row, Acc x, Acc residual,
                                      Acc scale) const {
    const Acc sum = Rounded<T>(x + residual);
    return {{Base::Store(row, sum, scale).value[0], sum}};
  }
};

template <typename Acc>
struct BackwardFormula : rms_norm::BackwardFormula<Acc> {
  static constexpr int kInputs = 3, kOutputs = 2;
  using Base = rms_norm::BackwardFormula<Acc>;
  using Row = typename Base::Row;

  XLA_FFI_OPS_HD Sums<Acc, 1> Add(Pass<0> pass, const Row& row, Acc sum, Acc dy,
                                  Acc, Acc scale) const {
    return Base::Add(pass, row, sum, dy, scale);
  }
  // dx and dresidual.
  XLA_FFI_OPS_HD Values<Acc, 2> Store(const Row& row, Acc sum, Acc dy, Acc dsum,
                                      Acc scale) const {
    const Acc dx = dsum + Base::Store(row, sum, dy, scale).value[0];
    return {{dx, dx}};
  }
  XLA_FFI_OPS_HD Sums<Acc, 1> Column(const Row& row, Acc sum, Acc dy, Acc,
                                     Acc scale) const {
    return Base::Column(row, sum, dy, scale);
  }
};

}  // namespace xla_ffi_ops::add_rms_norm

#endif  // XLA_FFI_OPS_OPS_ADD_RMS_NORM_ADD_RMS_NORM_H_
