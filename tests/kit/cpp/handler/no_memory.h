// SPDX-License-Identifier: Apache-2.0
// Allocations that fail on demand, in a program or shared object that includes
// this file once.
#ifndef XLA_FFI_OPS_TESTS_KIT_NO_MEMORY_H_
#define XLA_FFI_OPS_TESTS_KIT_NO_MEMORY_H_

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tests/kit/cpp/fake_xla.h"

namespace xla_ffi_ops {

// Allocations `first` to `last` fail, counted from 0 on in all threads;
// none of the runtime does.
struct NoMemory {
  static inline std::atomic<int64_t> first{0}, last{0}, count{0};
  static inline std::atomic<bool> armed{false};
  static bool Fails() {
    if (!armed || InRuntime::inside) return false;
    const int64_t i = count++;
    return first <= i && i <= last;
  }
  static void Arm(int64_t from, int64_t to) {
    first = from, last = to, count = 0;
    armed = true;
  }
};

}  // namespace xla_ffi_ops

void* operator new(std::size_t size) {
  if (!xla_ffi_ops::NoMemory::Fails()) {
    if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

#endif  // XLA_FFI_OPS_TESTS_KIT_NO_MEMORY_H_
