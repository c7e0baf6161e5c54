// SPDX-License-Identifier: Apache-2.0
// Whether memory has pages yet: the system gives a page at its first access.
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

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_FRESH_PAGES_H_
