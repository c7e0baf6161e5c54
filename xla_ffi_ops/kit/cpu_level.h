// SPDX-License-Identifier: Apache-2.0
// Which level of x86-64 this machine has, for functions that are compiled for
// several.
#ifndef XLA_FFI_OPS_KIT_CPU_LEVEL_H_
#define XLA_FFI_OPS_KIT_CPU_LEVEL_H_

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define XLA_FFI_OPS_CPU_LEVELS

namespace xla_ffi_ops::internal {

// 4, with AVX-512; 3, with AVX2; or 1.
inline int CpuLevel() {
  if (__builtin_cpu_supports("x86-64-v4")) return 4;
  return __builtin_cpu_supports("x86-64-v3") ? 3 : 1;
}

}  // namespace xla_ffi_ops::internal

#endif

#endif  // XLA_FFI_OPS_KIT_CPU_LEVEL_H_
