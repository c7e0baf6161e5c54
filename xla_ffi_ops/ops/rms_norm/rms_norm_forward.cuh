// SPDX-License-Identifier: Apache-2.0
// What the CUDA kernels of the forward pass share.
#ifndef XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_FORWARD_CUH_
#define XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_FORWARD_CUH_

#include <cstdint>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/ops/rms_norm/rms_norm.cuh"

namespace xla_ffi_ops {

template <typename T, typename Scale>
struct RmsNormForwardArgs {
  int64_t begin;
  int64_t end;
  int64_t cols;
  Accumulator<T> eps;
  Rows<const T> x;
  Scale scale;
  T* y;
  Accumulator<T>* rstd;
};

// 64 registers per thread, so that a multiprocessor runs 1024 threads.
inline constexpr int kForwardThreads = 1024;

// How many of them hold x, and as many the next x: with 16, 64 KiB of loads are
// in flight all the time. More accesses, or doubles, need more other registers.
template <typename T, int kSize>
inline constexpr int kForwardRegisters = kSize == 1      ? 6
                                         : sizeof(T) > 4 ? 12
                                                         : 16;

// Stores y in columns [column, column + kSize).
template <typename Sum, typename T, int kSize, typename ScaleRow>
__device__ inline void StoreY(const Pack<T, kSize>& x, Accumulator<T> rstd,
                              ScaleRow scale, int64_t column, T* y) {
  Sum values[kSize];
  LoadScale(scale, column, values);
  for (int i = 0; i < kSize; ++i) values[i] = x[i] * rstd * values[i];
  StoreValues(values, y + column);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_FORWARD_CUH_
