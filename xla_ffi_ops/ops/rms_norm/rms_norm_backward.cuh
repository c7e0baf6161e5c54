// SPDX-License-Identifier: Apache-2.0
// What the CUDA kernels of the backward pass share.
#ifndef XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_BACKWARD_CUH_
#define XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_BACKWARD_CUH_

#include <cstdint>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/ops/rms_norm/rms_norm.cuh"

namespace xla_ffi_ops {

// dscale is summed in two stages: the rows of a group are dealt out to `parts`
// blocks or clusters, and SumPartsKernel adds up what each of them leaves in
// the workspace. With one part, there is no second stage.
template <typename T, typename Scale>
struct RmsNormBackwardArgs {
  using Sum = RmsNormSum<T, Scale>;
  using S = RmsNormScale<Scale>;

  int64_t groups;
  int64_t rows;  // of a group
  int64_t cols;
  Rows<const T> x;
  Scale scale;
  Rows<const Accumulator<T>> rstd;
  Rows<const T> dy;
  T* dx;
  S* dscale;       // [groups, cols]
  Sum* workspace;  // [groups, workspace_parts, cols]
  int64_t workspace_parts;

  // Where part `part` of the sums of `group` goes if there are several.
  __device__ Sum* PartAt(int64_t group, int64_t part) const {
    return workspace + (group * workspace_parts + part) * cols;
  }
};

// The threads of a multiprocessor: 64 registers for each as in the forward
// pass, or 128 where sums of dscale are among them.
template <typename Scale>
inline constexpr int kBackwardThreads = kHasScale<Scale> ? 512 : 1024;

// How many registers hold x, and as many dy, the next x and the next dy.
// 16-bit elements have twice as many sums; more accesses, or doubles, need more
// other registers.
template <typename T, typename Scale, int kSize>
inline constexpr int kBackwardRegisters =
    !kHasScale<Scale> ? (kSize == 1 || sizeof(T) > 4 ? 4 : 8)
    : kSize == 1      ? 8
    : sizeof(T) == 4  ? 16
                      : 12;

// One access of x, dy and scale, and what is computed from them.
template <typename T, typename Scale, int kSize>
struct BackwardTerms {
  using Acc = Accumulator<T>;
  using Sum = RmsNormSum<T, Scale>;

  template <typename ScaleRow>
  __device__ BackwardTerms(const Pack<T, kSize>& x, const Pack<T, kSize>& dy,
                           Acc rstd, ScaleRow scale, int64_t column)
      : rstd(rstd) {
    LoadScale(scale, column, g);
    for (int k = 0; k < kSize; ++k) {
      xhat[k] = x[k] * rstd;
      g[k] *= dy[k];
    }
  }

  __device__ Sum Dot() const {
    Sum sum = 0;
    for (int k = 0; k < kSize; ++k) sum += xhat[k] * g[k];
    return sum;
  }

  __device__ void StoreDx(Sum mean, T* dx) const {
    Sum values[kSize];
    for (int k = 0; k < kSize; ++k) values[k] = rstd * (g[k] - xhat[k] * mean);
    StoreValues(values, dx);
  }

  Acc rstd;
  Acc xhat[kSize];
  Sum g[kSize];
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_BACKWARD_CUH_
