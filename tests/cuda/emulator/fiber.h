// SPDX-License-Identifier: Apache-2.0
// Functions that take turns on one thread, each with a stack of its own.
#ifndef XLA_FFI_OPS_TESTS_CUDA_EMULATOR_FIBER_H_
#define XLA_FFI_OPS_TESTS_CUDA_EMULATOR_FIBER_H_

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>

namespace emulator {

class Fiber {
 public:
  static constexpr size_t kStackBytes = 128 * 1024;

  // Makes the function that Resume() begins with. It must not return.
  void Prepare(void (*function)(), char* stack);

  // Runs the function from where it suspended itself to where it does so again.
  // Not from within a fiber.
  void Resume();

  // Returns to the caller of Resume(), from within the fiber.
  void Suspend();

 private:
  bool begun_ = false;
  ucontext_t begin_;
  jmp_buf resume_;  // which is much faster than another ucontext_t
};

}  // namespace emulator

#endif  // XLA_FFI_OPS_TESTS_CUDA_EMULATOR_FIBER_H_
