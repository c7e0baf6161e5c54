// SPDX-License-Identifier: Apache-2.0
// Memory: stores of a vector, through the caches or past them; and pages, which
// the system gives at their first access.
#ifndef XLA_FFI_OPS_VEC_MEMORY_H_
#define XLA_FFI_OPS_VEC_MEMORY_H_

#ifdef __linux__
#include <sys/mman.h>
#endif

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

// Whether the page of 4 KiB at this address is still to be given. glibc's
// default heap gets each array of 32 MiB or more from the system. False where
// the system cannot tell.
inline bool IsFreshPage([[maybe_unused]] uintptr_t address) {
#ifdef __linux__
  unsigned char given = 1;
  void* const page =
      reinterpret_cast<void*>(address & ~uintptr_t{kPageBytes - 1});
  return mincore(page, 1, &given) == 0 && (given & 1) == 0;
#else
  return false;
#endif
}

// Asks the system for pages of 2 MiB for an array, if its middle is still
// fresh.
inline void AskForHugePages([[maybe_unused]] const void* data,
                            [[maybe_unused]] uintptr_t bytes) {
#ifdef MADV_HUGEPAGE
  const auto begin = reinterpret_cast<uintptr_t>(data);
  if (!IsFreshPage(begin + bytes / 2)) return;
  const uintptr_t first = (begin + kPageBytes - 1) & ~uintptr_t{kPageBytes - 1};
  const uintptr_t end = (begin + bytes) & ~uintptr_t{kPageBytes - 1};
  // Without them, it is slower and no less right.
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_VEC_MEMORY_H_
