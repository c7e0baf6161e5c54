// SPDX-License-Identifier: Apache-2.0
// A bug for each sanitizer, for planted_bugs_test.py: each handler computes
// y = x + 1, and makes its mistake only if `bug` is set.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Ints = ffi::Buffer<ffi::S32, 1>;

// Writes an element more than y has.
HandlerResult HeapOverflow(CpuContext, bool bug, Ints x, ffi::Result<Ints> y) {
  const auto n = static_cast<int64_t>(y->element_count());
  for (int64_t i = 0; i < n + bug; ++i) {
    y->typed_data()[i] = i < n ? x.typed_data()[i] + 1 : 0;
  }
  return ffi::Error::Success();
}

// Subtracts the least int32_t. Of a sum, the compiler may swap the
// operands, and so the report names either first.
HandlerResult SignedOverflow(CpuContext, bool bug, Ints x,
                             ffi::Result<Ints> y) {
  const auto n = static_cast<int64_t>(y->element_count());
  for (int64_t i = 0; i < n; ++i) {
    const int32_t other = bug ? INT32_MIN : -1;
    y->typed_data()[i] = x.typed_data()[i] - other;
  }
  return ffi::Error::Success();
}

// Two threads write to the same memory, without an order.
HandlerResult DataRace(CpuContext device, bool bug, Ints x,
                       ffi::Result<Ints> y) {
  const auto n = static_cast<int64_t>(y->element_count());
  const auto sums = std::make_shared<std::array<int64_t, 2>>();
  const auto inside = std::make_shared<std::atomic<int>>(0);
  return ParallelFor(
      device.pool, 2, 1,
      [=, x = x.typed_data(), y = y->typed_data()](int64_t begin, int64_t) {
        // Both ranges are at work before either writes.
        inside->fetch_add(1, std::memory_order_relaxed);
        for (int i = 0; i < 1000; ++i) {
          if (inside->load(std::memory_order_relaxed) == 2) break;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        for (int64_t i = begin; i < n; i += 2) {
          y[i] = x[i] + 1;
          (*sums)[bug ? 0 : begin] += x[i];
        }
      });
}

}  // namespace

#define DEFINE_HANDLER(name, impl)       \
  XLA_FFI_OPS_DEFINE_HANDLER(name, impl, \
                             .Attr<bool>("bug").Arg<Ints>().Ret<Ints>())

DEFINE_HANDLER(planted_heap_overflow, HeapOverflow);
DEFINE_HANDLER(planted_signed_overflow, SignedOverflow);
DEFINE_HANDLER(planted_data_race, DataRace);

}  // namespace xla_ffi_ops
