// SPDX-License-Identifier: Apache-2.0
// Memory that has no pages yet: the system gives a page at its first access.
#ifndef XLA_FFI_OPS_KIT_FRESH_PAGES_H_
#define XLA_FFI_OPS_KIT_FRESH_PAGES_H_

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstdint>

namespace xla_ffi_ops::internal {

// Whether the page of 4 KiB at this address is still to be given. glibc's
// default heap gets each array above 32 MiB from the system. Where nobody can
// tell, no page is.
inline bool IsFreshPage([[maybe_unused]] uintptr_t address) {
#ifdef __linux__
  unsigned char given = 1;
  void* const page = reinterpret_cast<void*>(address & ~uintptr_t{4095});
  return mincore(page, 1, &given) == 0 && (given & 1) == 0;
#else
  return false;
#endif
}

// Asks the system for pages of 2 MiB for a large array that has no pages yet.
// With glibc's default heap, rms_norm of 64 MiB then takes a third of the time:
// most of it was page faults.
inline void AskForHugePages([[maybe_unused]] const void* data,
                            [[maybe_unused]] uintptr_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kLeast = 4 << 20;  // has a page of 2 MiB
  const auto begin = reinterpret_cast<uintptr_t>(data);
  if (bytes < kLeast || !IsFreshPage(begin + bytes / 2)) return;
  const uintptr_t first = (begin + 4095) & ~uintptr_t{4095};
  const uintptr_t end = (begin + bytes) & ~uintptr_t{4095};
  // Without them, it is slower and no less right.
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_FRESH_PAGES_H_
