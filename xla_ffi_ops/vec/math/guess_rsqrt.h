// SPDX-License-Identifier: Apache-2.0
// The processor's guess of 1 / sqrt(x), which differs between makers.
#ifndef XLA_FFI_OPS_VEC_MATH_GUESS_RSQRT_H_
#define XLA_FFI_OPS_VEC_MATH_GUESS_RSQRT_H_

#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::math {

// Whether the processor has such a guess. Only AVX-512 has one for double.
template <typename V>
inline constexpr bool kGuessesRsqrt =
    kHasCpuLevels && (kIsFloat<V> || sizeof(V) == kVectorBytes<4>);

#ifdef XLA_FFI_OPS_CPU_LEVELS
inline VecOfBytes<float, 16> GuessRsqrt(VecOfBytes<float, 16> x) {
  return __builtin_ia32_rsqrtps(x);
}
XLA_FFI_OPS_V3 inline VecOfBytes<float, 32> GuessRsqrt(
    VecOfBytes<float, 32> x) {
  return __builtin_ia32_rsqrtps256(x);
}
// AVX-512 has a better one, which XLA does not use for float.
XLA_FFI_OPS_V4 inline VecOfBytes<float, 64> GuessRsqrt(
    VecOfBytes<float, 64> x) {
  using Halves = HalvesOf<VecOfBytes<float, 64>>;
  Halves halves = BitCast<Halves>(x);
  halves = {__builtin_ia32_rsqrtps256(halves.low),
            __builtin_ia32_rsqrtps256(halves.high)};
  return BitCast<VecOfBytes<float, 64>>(halves);
}
XLA_FFI_OPS_V4 inline VecOfBytes<double, 64> GuessRsqrt(
    VecOfBytes<double, 64> x) {
  return __builtin_ia32_rsqrt14pd512_mask(x, x, -1);
}
#endif

}  // namespace xla_ffi_ops::math

#endif  // XLA_FFI_OPS_VEC_MATH_GUESS_RSQRT_H_
