// SPDX-License-Identifier: Apache-2.0
// What a handler returns.
#ifndef XLA_FFI_OPS_THREADS_HANDLER_RESULT_H_
#define XLA_FFI_OPS_THREADS_HANDLER_RESULT_H_

#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/threads/parallel_loop.h"

namespace xla_ffi_ops {

// An Error, possibly Success, or a Future of one while other threads still
// work. XLA takes an Error much faster than a Future.
//
// A result that is dropped, as by an exception, waits for the other threads:
// XLA may free the buffers as soon as it has the error.
class HandlerResult {
 public:
  HandlerResult(xla::ffi::Error error) : error_(std::move(error)) {}  // NOLINT
  HandlerResult(xla::ffi::Future work) : work_(std::move(work)) {}    // NOLINT
  HandlerResult(HandlerResult&& other)
      : op(other.op),
        error_(std::move(other.error_)),
        work_(std::exchange(other.work_, std::nullopt)) {}
  HandlerResult& operator=(HandlerResult&& other) {
    std::swap(op, other.op);
    std::swap(error_, other.error_);
    std::swap(work_, other.work_);
    return *this;
  }
  ~HandlerResult() {
    if (work_) internal::Wait(*work_);
  }

  // Null while other threads work.
  const xla::ffi::Error* error() const { return work_ ? nullptr : &error_; }

  // The Future, where error() is null. Its user waits for it now.
  xla::ffi::Future Release() {
    xla::ffi::Future work = std::move(*work_);
    work_.reset();
    return work;
  }

  const char* op = nullptr;  // is named by the Future's error

 private:
  xla::ffi::Error error_;
  std::optional<xla::ffi::Future> work_;
};

namespace internal {

// What two results have in common.
struct Joined {
  void Done(const xla::ffi::Error& result) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (result.failure())
        error = Try<xla::ffi::Error>([&] { return result; });
      if (--unfinished > 0) return;
    }
    Resolve(promise, error);
  }

  xla::ffi::Promise promise;
  std::mutex mutex;  // of what follows
  int unfinished = 2;
  xla::ffi::Error error;
};

}  // namespace internal

// Done when both are. The error is that of one of them.
inline HandlerResult Join(HandlerResult first, HandlerResult second) {
  using xla::ffi::Error;
  using xla::ffi::Future;
  if (first.error() && second.error()) {
    return std::move(first.error()->failure() ? first : second);
  }
  const auto joined = std::make_shared<internal::Joined>();
  Future future(joined->promise);
  for (HandlerResult* result : {&first, &second}) {
    if (result->error()) {
      joined->Done(*result->error());
      continue;
    }
    Future work = result->Release();
    internal::WhenDone(work, [joined](const std::optional<Error>& error) {
      static const Error success;
      joined->Done(error ? *error : success);
    });
  }
  return HandlerResult(std::move(future));
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_THREADS_HANDLER_RESULT_H_
