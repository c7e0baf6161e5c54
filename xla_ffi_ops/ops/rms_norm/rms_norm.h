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

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/float16.h"
#include "xla_ffi_ops/kit/rows.h"

namespace xla_ffi_ops {

namespace internal {

template <typename Scale>
struct RmsNormScale {
  using Type = void;
};
template <typename S>
struct RmsNormScale<Rows<const S>> {
  using Type = S;
};

// A class, as g++ and nvcc make different symbols of the expression.
template <typename T, typename Scale>
struct RmsNormSum {
  using Type = decltype(Accumulator<T>{} * (Scale{}[0][0] * float{}));
};

}  // namespace internal

// What a row of `Scale` (Rows<const S> or Ones) and x of type T multiply to.
template <typename T, typename Scale>
using RmsNormSum = typename internal::RmsNormSum<T, Scale>::Type;

// S for Rows<const S>, void for Ones.
template <typename Scale>
using RmsNormScale = typename internal::RmsNormScale<Scale>::Type;

// Rows [begin, end) of y and rstd. T is Float16, BFloat16, float or double;
// Scale is Ones or Rows<const S> with S one of these four.
template <typename T, typename Scale>
void RmsNormForward(Cpu, int64_t begin, int64_t end, int64_t cols,
                    Accumulator<T> eps, Rows<const T> x, Scale scale, T* y,
                    Accumulator<T>* rstd);
template <typename T, typename Scale>
void RmsNormForward(Cuda device, int64_t begin, int64_t end, int64_t cols,
                    Accumulator<T> eps, Rows<const T> x, Scale scale, T* y,
                    Accumulator<T>* rstd);

// Rows [begin, end) of dx, and in dscale[0, cols) the sum over these rows
// (overwritten; zeros for no rows; null with Ones).
template <typename T, typename Scale>
void RmsNormBackward(Cpu, int64_t begin, int64_t end, int64_t cols,
                     Rows<const T> x, Scale scale,
                     Rows<const Accumulator<T>> rstd, Rows<const T> dy, T* dx,
                     RmsNormSum<T, Scale>* dscale);

// dx of groups * rows rows, and in dscale[groups, cols] the sum over the `rows`
// rows of each group, rounded once (zeros for no rows; null with Ones). The sum
// is kept in workspace[groups, parts, cols] meanwhile, for any parts >= 1 (null
// with Ones). More parts keep more of the device busy.
template <typename T, typename Scale>
void RmsNormBackward(Cuda device, int64_t groups, int64_t rows, int64_t cols,
                     Rows<const T> x, Scale scale,
                     Rows<const Accumulator<T>> rstd, Rows<const T> dy, T* dx,
                     RmsNormScale<Scale>* dscale,
                     RmsNormSum<T, Scale>* workspace, int64_t parts);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_H_
