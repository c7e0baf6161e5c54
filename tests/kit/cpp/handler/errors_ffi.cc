// SPDX-License-Identifier: Apache-2.0
// Everything that a handler can fail with, for handler_test.py.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

// A loop in which every thread but the calling one calls `fail`, and not before
// the calling thread has left if there are others.
template <typename Fail>
HandlerResult FailLater(CpuContext device, Fail fail) {
  const auto caller = std::this_thread::get_id();
  const auto others = std::make_shared<std::atomic<bool>>(false);
  return ParallelFor(device.pool, 2, 1, [=](int64_t, int64_t) {
    constexpr auto kStep = std::chrono::milliseconds(10);
    if (std::this_thread::get_id() != caller) {
      *others = true;
      std::this_thread::sleep_for(10 * kStep);
      return fail();
    }
    for (int i = 0; i < 100 && !*others; ++i) {
      std::this_thread::sleep_for(kStep);
    }
    return *others ? ffi::Error::Success() : fail();
  });
}

HandlerResult Fail(CpuContext device, std::string_view how,
                   ffi::Buffer<ffi::F32, 1>,
                   ffi::Result<ffi::Buffer<ffi::F32, 1>>) {
  if (how == "error") return ffi::Error(ffi::ErrorCode::kNotFound, "gone");
  if (how == "exception") throw std::runtime_error("thrown");
  if (how == "number") throw 42;
  if (how == "error_of_loop") {
    return ParallelFor(device.pool, 64, 1, [](int64_t begin, int64_t) {
      return begin < 20 ? ffi::Error::Success()
                        : ffi::Error(ffi::ErrorCode::kOutOfRange,
                                     std::to_string(begin));
    });
  }
  if (how == "later_error") {
    return FailLater(device, [] {
      return ffi::Error(ffi::ErrorCode::kNotFound, "gone later");
    });
  }
  if (how == "later_exception") {
    return FailLater(device, []() -> ffi::Error {
      throw std::runtime_error("thrown later");
    });
  }
  ffi::Promise promise;
  ffi::Future future(promise);
  const bool fails = how == "future_error";
  // As a Task, so that ThreadSanitizer sees the order.
  device.pool.Schedule(internal::Task([promise, fails]() mutable {
    if (fails) return promise.SetError(ffi::Error::Internal("of a future"));
    promise.SetAvailable();
  }));
  return future;
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(kit_test_fail, Fail,
                           .Attr<std::string_view>("how")
                               .Arg<ffi::Buffer<ffi::F32, 1>>()    // x
                               .Ret<ffi::Buffer<ffi::F32, 1>>());  // y

}  // namespace xla_ffi_ops
