// SPDX-License-Identifier: Apache-2.0
// Memory that has no pages yet: the system gives a page at its first access.
#ifndef XLA_FFI_OPS_VEC_FRESH_PAGES_H_
#define XLA_FFI_OPS_VEC_FRESH_PAGES_H_

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstdint>

#include "xla_ffi_ops/vec/store_vector.h"

namespace xla_ffi_ops::internal {

// Whether the page of 4 KiB at this address is still to be given. glibc's
// default heap gets each array above 32 MiB from the system. False where the
// system cannot tell.
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

#endif  // XLA_FFI_OPS_VEC_FRESH_PAGES_H_
