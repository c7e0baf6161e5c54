// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/fiber.h"

#include <sanitizer/asan_interface.h>

namespace emulator {
namespace {

jmp_buf resumed_;  // by the fiber that runs

}  // namespace

void Fiber::Prepare(void (*function)(), char* stack) {
  // Who used the stack before may have left its frames' bounds there.
  ASAN_UNPOISON_MEMORY_REGION(stack, kStackBytes);
  begun_ = false;
  getcontext(&begin_);
  begin_.uc_stack.ss_sp = stack;
  begin_.uc_stack.ss_size = kStackBytes;
  makecontext(&begin_, function, 0);
}

void Fiber::Resume() {
  if (_setjmp(resumed_) != 0) return;
  if (begun_) _longjmp(resume_, 1);
  begun_ = true;
  setcontext(&begin_);
}

void Fiber::Suspend() {
  if (_setjmp(resume_) == 0) _longjmp(resumed_, 1);
}

}  // namespace emulator
