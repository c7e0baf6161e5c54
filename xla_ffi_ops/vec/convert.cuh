// SPDX-License-Identifier: Apache-2.0
// Conversions of elements from and to the type to compute in.
#ifndef XLA_FFI_OPS_VEC_CONVERT_CUH_
#define XLA_FFI_OPS_VEC_CONVERT_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops {

namespace internal {

template <typename To, typename From>
__device__ inline To DeviceBitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

__device__ inline float Widen(Float16 value) {
  return __half2float(DeviceBitCast<__half>(value));
}
__device__ inline float Widen(BFloat16 value) {
  return __bfloat162float(DeviceBitCast<__nv_bfloat16>(value));
}
__device__ inline float Widen(float value) { return value; }
__device__ inline double Widen(double value) { return value; }

// Rounds once. The second argument is only there for its type.
__device__ inline Float16 Round(float value, Float16) {
  return DeviceBitCast<Float16>(__float2half_rn(value));
}
__device__ inline Float16 Round(double value, Float16) {
  return DeviceBitCast<Float16>(__double2half(value));
}
__device__ inline BFloat16 Round(float value, BFloat16) {
  return DeviceBitCast<BFloat16>(__float2bfloat16_rn(value));
}
__device__ inline BFloat16 Round(double value, BFloat16) {
  return DeviceBitCast<BFloat16>(__double2bfloat16(value));
}
template <typename From>
__device__ inline float Round(From value, float) {
  return static_cast<float>(value);
}
template <typename From>
__device__ inline double Round(From value, double) {
  return value;
}

// Two at once is one instruction.
template <typename Half>
__device__ inline uint32_t RoundPair(double low, double high, Half) {
  return DeviceBitCast<uint16_t>(Round(low, Half())) |
         uint32_t{DeviceBitCast<uint16_t>(Round(high, Half()))} << 16;
}
__device__ inline uint32_t RoundPair(float low, float high, Float16) {
  return DeviceBitCast<uint32_t>(__floats2half2_rn(low, high));
}
__device__ inline uint32_t RoundPair(float low, float high, BFloat16) {
  return DeviceBitCast<uint32_t>(__floats2bfloat162_rn(low, high));
}

}  // namespace internal

template <typename To, typename From>
__device__ inline To RoundTo(From value) {
  return internal::Round(value, To());
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_VEC_CONVERT_CUH_
