// SPDX-License-Identifier: Apache-2.0
// A handler with a state: it adds the number of its calls.
#include <atomic>
#include <cstdint>
#include <memory>

#include "xla_ffi_ops/ffi.h"

namespace {

namespace ffi = xla::ffi;

std::atomic<int64_t> alive{0};

// XLA makes one for each call in a program, when it compiles the program, and
// deletes it with the program. Runs of the program may use it at the same time.
struct Counter {
  static inline ffi::TypeId id = {};

  explicit Counter(int64_t start) : next(start) { ++alive; }
  ~Counter() { --alive; }

  std::atomic<int64_t> next;
};

xla_ffi_ops::StateOr<Counter> MakeCounter(int64_t start) {
  if (start < 0) {
    return ffi::Unexpected(
        ffi::Error::InvalidArgument("start must be 0 or more"));
  }
  return std::make_unique<Counter>(start);
}

xla_ffi_ops::HandlerResult Count(xla_ffi_ops::CpuContext, Counter* counter,
                                 int64_t, ffi::BufferR0<ffi::S64> x,
                                 ffi::ResultBufferR0<ffi::S64> y) {
  *y->typed_data() = *x.typed_data() + counter->next++;
  return ffi::Error::Success();
}

// How many counters there are.
xla_ffi_ops::HandlerResult Alive(xla_ffi_ops::CpuContext,
                                 ffi::ResultBufferR0<ffi::S64> count) {
  *count->typed_data() = alive;
  return ffi::Error::Success();
}

// A clock for all. Tokens order its calls: they have no memory.
xla_ffi_ops::HandlerResult Tick(xla_ffi_ops::CpuContext, ffi::Token,
                                ffi::ResultBufferR0<ffi::S64> time,
                                ffi::Result<ffi::Token>) {
  static std::atomic<int64_t> next{0};
  *time->typed_data() = next++;
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_STATE(example_counter, Counter, MakeCounter,
                         .Attr<int64_t>("start"));
XLA_FFI_OPS_DEFINE_HANDLER(example_counter, Count,
                           .Ctx<ffi::State<Counter>>()
                               .Attr<int64_t>("start")
                               .Arg<ffi::BufferR0<ffi::S64>>()    // x
                               .Ret<ffi::BufferR0<ffi::S64>>());  // y
XLA_FFI_OPS_DEFINE_HANDLER(example_counters_alive, Alive,
                           .Ret<ffi::BufferR0<ffi::S64>>());
XLA_FFI_OPS_DEFINE_HANDLER(
    example_tick, Tick,
    .Arg<ffi::Token>().Ret<ffi::BufferR0<ffi::S64>>().Ret<ffi::Token>());
