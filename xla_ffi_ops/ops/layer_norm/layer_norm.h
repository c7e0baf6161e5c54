// SPDX-License-Identifier: Apache-2.0
// Layer normalization of rows, forward and backward:
//
//   mean = mean_j(x[j]),  rstd = 1 / sqrt(mean_j((x[j] - mean)^2) + eps)
//   y[j] = (x[j] - mean) * rstd * scale[j] + bias[j]
//
// and, with xhat[j] = (x[j] - mean) * rstd, g[j] = dy[j] scale[j]:
//
//   dx[j]     = rstd * (g[j] - mean_k(g[k]) - xhat[j] * mean_k(g[k] xhat[k]))
//   dscale[j] = sum over rows of dy[j] * xhat[j]
//   dbias[j]  = sum over rows of dy[j]
//
// Source: Ba, Kiros and Hinton, Layer Normalization, 2016 (arXiv:1607.06450).
#ifndef XLA_FFI_OPS_OPS_LAYER_NORM_LAYER_NORM_H_
#define XLA_FFI_OPS_OPS_LAYER_NORM_LAYER_NORM_H_

#include <cstdint>

#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/vec/types.h"

namespace xla_ffi_ops::layer_norm {

using RowTypes = DeviceTypes</*CpuTypes=*/FloatTypes, /*CudaTypes=*/FloatTypes>;

// The variance is from a second pass, over x - mean, which also corrects the
// mean: right to a few units in the last place for any mean and any outlier. So
// the mean of a sample will do, unless it is off by more than half of the
// standard deviation: its square is subtracted, and would cancel.
template <typename Acc>
struct ForwardFormula {
  static constexpr int kInputs = 1, kOutputs = 1, kSums = 0, kPasses = 2;
  using Weights = WeightDefaults<1, 0>;  // scale and bias
  struct Row {
    Acc mean, rstd;
    bool accepted;
  };

  Acc eps;
  Acc *mean, *rstd;

  XLA_FFI_OPS_HD Row Load(int64_t) const { return {}; }
  XLA_FFI_OPS_HD Sums<Acc, 1> Add(Pass<0>, const Row&, Acc x, Acc, Acc) const {
    return {{x}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<0>, Row& row, Sums<Acc, 1> sums,
                             Acc cols) const {
    row.mean = sums.value[0] / cols;
  }
  XLA_FFI_OPS_HD Sums<Acc, 2> Add(Pass<1>, const Row& row, Acc x, Acc,
                                  Acc) const {
    return {{x - row.mean, (x - row.mean) * (x - row.mean)}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<1>, Row& row, Sums<Acc, 2> sums,
                             Acc cols) const {
    const Acc rest = sums.value[0] / cols;
    // Of a row with an infinity the mean may be infinite, and the rest is NaN.
    if (!std::isnan(rest)) row.mean += rest;
    // Where its square overflows, so does the variance: it stays infinite.
    const Acc square = std::isinf(rest * rest) ? 0 : rest * rest;
    const Acc variance = sums.value[1] / cols - square;
    row.rstd = ReciprocalSqrt(variance + eps);
    row.accepted = 4 * square <= variance && !std::isinf(variance);
  }
  XLA_FFI_OPS_HD bool Accepts(const Row& row) const { return row.accepted; }
  XLA_FFI_OPS_HD void Save(int64_t i, const Row& row) const {
    mean[i] = row.mean;
    rstd[i] = row.rstd;
  }
  XLA_FFI_OPS_HD Values<Acc, 1> Store(const Row& row, Acc x, Acc scale,
                                      Acc bias) const {
    return {{(x - row.mean) * row.rstd * scale + bias}};
  }
};

template <typename Acc>
struct BackwardFormula {
  static constexpr int kInputs = 2, kOutputs = 1, kSums = 2, kPasses = 1;
  using Weights = WeightDefaults<1>;  // scale
  struct Row {
    Acc mean, rstd;
    Acc g, gx;  // means of g and of g * xhat
  };

  Rows<const Acc> mean, rstd;

  XLA_FFI_OPS_HD Row Load(int64_t i) const {
    return {*mean[i], *rstd[i], 0, 0};
  }
  XLA_FFI_OPS_HD Sums<Acc, 2> Add(Pass<0>, const Row& row, Acc x, Acc dy,
                                  Acc scale) const {
    return {{dy * scale, (x - row.mean) * row.rstd * (dy * scale)}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<0>, Row& row, Sums<Acc, 2> sums,
                             Acc cols) const {
    row.g = sums.value[0] / cols;
    row.gx = sums.value[1] / cols;
  }
  XLA_FFI_OPS_HD void Save(int64_t, const Row&) const {}
  XLA_FFI_OPS_HD Values<Acc, 1> Store(const Row& row, Acc x, Acc dy,
                                      Acc scale) const {
    const Acc xhat = (x - row.mean) * row.rstd;
    return {{row.rstd * (dy * scale - row.g - xhat * row.gx)}};
  }
  XLA_FFI_OPS_HD Sums<Acc, 2> Column(const Row& row, Acc x, Acc dy, Acc) const {
    return {{dy * ((x - row.mean) * row.rstd), dy}};
  }
};

}  // namespace xla_ffi_ops::layer_norm

#endif  // XLA_FFI_OPS_OPS_LAYER_NORM_LAYER_NORM_H_
