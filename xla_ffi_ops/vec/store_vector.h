// SPDX-License-Identifier: Apache-2.0
// Stores of a vector, through the caches or past them.
#ifndef XLA_FFI_OPS_VEC_STORE_VECTOR_H_
#define XLA_FFI_OPS_VEC_STORE_VECTOR_H_

#include <cstdint>
#include <cstring>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/x86.h"

namespace xla_ffi_ops::internal {

// A line of the caches, in bytes.
inline constexpr int kLineBytes = 64;

// A page of memory, in bytes.
inline constexpr int64_t kPageBytes = 4096;

// How many elements from p on are before the next line.
template <typename T>
XLA_FFI_OPS_HD int64_t BeforeLine(const T* p) {
  return -reinterpret_cast<uintptr_t>(p) % kLineBytes / sizeof(T);
}

// A non-temporal store, past the caches, needs kWideLevel, and memory that is
// aligned to the size of the vector.
template <bool nontemporal, typename Vector>
XLA_FFI_OPS_HD void StoreVector(const Vector& v, void* to) {
  if constexpr (nontemporal) {
#ifdef __clang__
    __builtin_nontemporal_store(v, static_cast<Vector*>(to));
#elif defined(XLA_FFI_OPS_X86)
    x86::StorePast(v, to);
#else
    std::memcpy(to, &v, sizeof(v));
#endif
  } else {
    std::memcpy(to, &v, sizeof(v));
  }
}

// Only after a fence do other threads see stores past the caches.
XLA_FFI_OPS_HD void FenceStores() {
#ifdef __x86_64__
  asm volatile("sfence" : : : "memory");
#endif
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_VEC_STORE_VECTOR_H_
