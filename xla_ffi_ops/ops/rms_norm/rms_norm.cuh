// SPDX-License-Identifier: Apache-2.0
// What the CUDA kernels of rms_norm share.
//
// Narrow and middle rows are kept in registers: x is read once, and the next
// row is loaded while this one is computed. The threads of a row are those of a
// warp or a part of it, of a block, or of a cluster of blocks. Rows that are
// too wide for these are read twice.
#ifndef XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_CUH_
#define XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_CUH_

#include <cuda_runtime.h>

#include <type_traits>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/kit/rows.h"
#include "xla_ffi_ops/ops/rms_norm/rms_norm.h"

namespace xla_ffi_ops {

template <typename Scale>
inline constexpr bool kHasScale = !std::is_same_v<Scale, Ones>;

// Whether kernels with 16-byte accesses are compiled: not for rare mixtures of
// dtypes, which would be half of all kernels.
template <typename T, typename Scale>
inline constexpr bool kHasWide =
    !kHasScale<Scale> || std::is_same_v<Scale, Rows<const T>> ||
    (std::is_same_v<Scale, Rows<const float>> && sizeof(T) == 2);

// How many accesses of kSize elements fill so many 32-bit registers.
template <typename T, int kSize>
constexpr int LoadsIn(int registers) {
  constexpr int kRegisters = (kSize * sizeof(T) + 3) / 4;
  return registers / kRegisters;
}

// Elements [column, column + kSize) of a row of scale.
template <int kSize, typename S, typename Sum>
__device__ inline void LoadScale(const S* row, int64_t column,
                                 Sum (&values)[kSize]) {
  LoadValues(row + column, values);
}
template <int kSize, typename Sum>
__device__ inline void LoadScale(Ones, int64_t, Sum (&values)[kSize]) {
  for (int i = 0; i < kSize; ++i) values[i] = 1;
}

// Calls INSTANTIATE(T, Scale) for all types that rms_norm.h allows.
#define XLA_FFI_OPS_RMS_NORM_SCALES(INSTANTIATE, T) \
  INSTANTIATE(T, Ones)                              \
  INSTANTIATE(T, Rows<const Float16>)               \
  INSTANTIATE(T, Rows<const BFloat16>)              \
  INSTANTIATE(T, Rows<const float>)                 \
  INSTANTIATE(T, Rows<const double>)
#define XLA_FFI_OPS_RMS_NORM_TYPES(INSTANTIATE)      \
  XLA_FFI_OPS_RMS_NORM_SCALES(INSTANTIATE, Float16)  \
  XLA_FFI_OPS_RMS_NORM_SCALES(INSTANTIATE, BFloat16) \
  XLA_FFI_OPS_RMS_NORM_SCALES(INSTANTIATE, float)    \
  XLA_FFI_OPS_RMS_NORM_SCALES(INSTANTIATE, double)

inline const void* DataOf(Ones) { return nullptr; }
template <typename S>
const void* DataOf(const Rows<const S>& rows) {
  return rows.data;
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_RMS_NORM_RMS_NORM_CUH_
