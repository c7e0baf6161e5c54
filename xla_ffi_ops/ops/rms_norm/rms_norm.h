// SPDX-License-Identifier: Apache-2.0
// Root mean square normalization of rows, forward and backward:
//
//   rstd = 1 / sqrt(mean_j(x[j]^2) + eps)
//   y[j] = x[j] * rstd * scale[j]
//
// and, for the cotangent dy, with xhat[j] = x[j] * rstd, g[j] = dy[j] scale[j]:
//
//   dx[j]     = rstd * (g[j] - xhat[j] * mean_k(g[k] xhat[k]))
//   dscale[j] = sum over rows of dy[j] * xhat[j]
//
// Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019
// (arXiv:1910.07467), with eps inside the root as in all current models.
#ifndef XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_H_
#define XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_H_

#include <cstdint>

#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/vec/types.h"

namespace xla_ffi_ops::rms_norm {

using RowTypes = DeviceTypes</*CpuTypes=*/FloatTypes, /*CudaTypes=*/FloatTypes>;

template <typename Acc>
struct ForwardFormula {
  static constexpr int kInputs = 1, kOutputs = 1, kSums = 0, kPasses = 1;
  using Weights = WeightDefaults<1>;  // scale
  struct Row {
    Acc rstd;
  };

  Acc eps;
  Acc* rstd;

  XLA_FFI_OPS_HD Row Load(int64_t) const { return {}; }
  XLA_FFI_OPS_HD Sums<Acc, 1> Add(Pass<0>, const Row&, Acc x, Acc) const {
    return {{x * x}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<0>, Row& row, Sums<Acc, 1> sums,
                             Acc cols) const {
    row.rstd = ReciprocalSqrt(sums.value[0] / cols + eps);
  }
  XLA_FFI_OPS_HD void Save(int64_t i, const Row& row) const {
    rstd[i] = row.rstd;
  }
  XLA_FFI_OPS_HD Values<Acc, 1> Store(const Row& row, Acc x, Acc scale) const {
    return {{x * row.rstd * scale}};
  }
};

template <typename Acc>
struct BackwardFormula {
  static constexpr int kInputs = 2, kOutputs = 1, kSums = 1, kPasses = 1;
  using Weights = WeightDefaults<1>;  // scale
  struct Row {
    Acc rstd;
    Acc mean;  // of g * xhat
  };

  Rows<const Acc> rstd;

  XLA_FFI_OPS_HD Row Load(int64_t i) const { return {*rstd[i], 0}; }
  XLA_FFI_OPS_HD Sums<Acc, 1> Add(Pass<0>, const Row& row, Acc x, Acc dy,
                                  Acc scale) const {
    return {{x * row.rstd * (dy * scale)}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<0>, Row& row, Sums<Acc, 1> sums,
                             Acc cols) const {
    row.mean = sums.value[0] / cols;
  }
  XLA_FFI_OPS_HD void Save(int64_t, const Row&) const {}
  XLA_FFI_OPS_HD Values<Acc, 1> Store(const Row& row, Acc x, Acc dy,
                                      Acc scale) const {
    return {{row.rstd * (dy * scale - x * row.rstd * row.mean)}};
  }
  XLA_FFI_OPS_HD Sums<Acc, 1> Column(const Row& row, Acc x, Acc dy, Acc) const {
    return {{dy * (x * row.rstd)}};
  }
};

}  // namespace xla_ffi_ops::rms_norm

#endif  // XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_H_
