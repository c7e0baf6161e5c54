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
#ifndef XLA_FFI_OPS_RMS_NORM_RMS_NORM_H_
#define XLA_FFI_OPS_RMS_NORM_RMS_NORM_H_

#include <cstdint>

#include "xla_ffi_ops/device.h"
#include "xla_ffi_ops/float16.h"
#include "xla_ffi_ops/rows.h"

namespace xla_ffi_ops {

// What a row of `Scale` (Rows<const S> or Ones) and x of type T multiply to.
template <typename T, typename Scale>
using RmsNormSum = decltype(Accumulator<T>{} * (Scale{}[0][0] * float{}));

// Rows [begin, end) of y and rstd. T is Float16, BFloat16, float or double;
// Scale is Ones or Rows<const S> with S one of these four.
template <typename T, typename Scale>
void RmsNormForward(Cpu, int64_t begin, int64_t end, int64_t cols,
                    Accumulator<T> eps, Rows<const T> x, Scale scale, T* y,
                    Accumulator<T>* rstd);

// Rows [begin, end) of dx, and in dscale[0, cols) the sum over these rows
// (overwritten; zeros for no rows; null with Ones).
template <typename T, typename Scale>
void RmsNormBackward(Cpu, int64_t begin, int64_t end, int64_t cols,
                     Rows<const T> x, Scale scale,
                     Rows<const Accumulator<T>> rstd, Rows<const T> dy, T* dx,
                     RmsNormSum<T, Scale>* dscale);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_RMS_NORM_RMS_NORM_H_
