// SPDX-License-Identifier: Apache-2.0
// Each allocation of a call in turn fails, by itself or with all later ones:
// the call ends, and no task works on its buffers afterwards.
#include "tests/kit/cpp/handler/no_memory.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/kit/cpp/fake_xla.h"
#include "tests/kit/cpp/pools.h"
#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

constexpr int kRanges = 40;

std::atomic<bool> ended{false};  // The buffers may be freed.
std::atomic<int> done{0};
bool fails = false;

ffi::Error Failure() {
  return ffi::Error::Internal("a message that does not fit in place");
}

ffi::Error Work(int64_t range) {
  CHECK(!ended);
  std::this_thread::sleep_for(std::chrono::microseconds(20));
  CHECK(!ended);
  ++done;
  return fails && range == kRanges / 2 ? Failure() : ffi::Error::Success();
}

HandlerResult Loop(CpuContext device) {
  return ParallelFor(device.pool, kRanges, 1,
                     [](int64_t i, int64_t) { return Work(i); });
}
HandlerResult TwoLoops(CpuContext device) {
  HandlerResult first = Loop(device);
  return Join(std::move(first), Loop(device));
}
// The second part is known at once.
HandlerResult LoopAndError(CpuContext device) {
  return Join(Loop(device), fails ? Failure() : ffi::Error::Success());
}

// Returns the number of allocations.
int64_t Test(XLA_FFI_Handler* handler, int loops, int64_t first, int64_t last) {
  FakeXla xla(4);
  Threads pool(xla);
  ended = false;
  done = 0;
  NoMemory::Arm(first, last);
  const std::unique_ptr<XLA_FFI_Error> error = xla.Call(handler);
  if (xla.future == nullptr) ended = true;
  pool.Join();
  NoMemory::armed = false;
  const XLA_FFI_Error* result = error.get();
  if (xla.future != nullptr) {
    CHECK(xla.future->resolved);
    result = xla.future->error.get();
  }
  if (result == nullptr) {
    CHECK(!fails);
    CHECK(done == loops * kRanges);
  } else {
    CHECK(result->code == XLA_FFI_Error_Code_INTERNAL);
    CHECK(fails || first < NoMemory::count);
  }
  return NoMemory::count;
}

void TestAll(XLA_FFI_Handler* handler, int loops) {
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  for (const bool failing : {false, true}) {
    fails = failing;
    const int64_t count = Test(handler, loops, kAll, kAll);
    CHECK(count > 4);
    for (int64_t i = 0; i < count + 5; ++i) {
      Test(handler, loops, i, i);
      Test(handler, loops, i, kAll);
    }
  }
}

}  // namespace
}  // namespace xla_ffi_ops

XLA_FFI_OPS_DEFINE_HANDLER(no_memory_loop, xla_ffi_ops::Loop, );
XLA_FFI_OPS_DEFINE_HANDLER(no_memory_two_loops, xla_ffi_ops::TwoLoops, );
XLA_FFI_OPS_DEFINE_HANDLER(no_memory_and_error, xla_ffi_ops::LoopAndError, );

int main() {
  xla_ffi_ops::TestAll(no_memory_loop_cpu, 1);
  xla_ffi_ops::TestAll(no_memory_two_loops_cpu, 2);
  xla_ffi_ops::TestAll(no_memory_and_error_cpu, 1);
}
