// SPDX-License-Identifier: Apache-2.0
// A parallel loop on XLA's intra-op thread pool.
#ifndef XLA_FFI_OPS_PARALLEL_H_
#define XLA_FFI_OPS_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "xla/ffi/api/ffi.h"

namespace xla_ffi_ops {

// What a handler returns: done (an Error, possibly Success) or still running.
// A finished call is much cheaper to report as an Error than as a Future.
class Status {
 public:
  Status(xla::ffi::Error error) : value_(std::move(error)) {}    // NOLINT
  Status(xla::ffi::Future future) : value_(std::move(future)) {}  // NOLINT

  std::variant<xla::ffi::Error, xla::ffi::Future> value_;
};

namespace internal {

template <typename Body, typename Finish>
class ParallelLoop {
 public:
  ParallelLoop(int64_t n, int64_t grain, Body body, Finish finish)
      : n_(n),
        grain_(grain),
        blocks_((n + grain - 1) / grain),
        unfinished_(blocks_),
        body_(std::move(body)),
        finish_(std::move(finish)) {}

  int64_t blocks() const { return blocks_; }

  xla::ffi::Future future() { return xla::ffi::Future(promise_); }

  // Takes blocks until none is left. Returns true in the thread that finished
  // the last one, after all of the loop's work.
  bool Run() {
    bool finished_all = false;
    int64_t block;
    while ((block = next_.fetch_add(1)) < blocks_) {
      const int64_t begin = block * grain_;
      Try([&] { body_(begin, std::min(n_, begin + grain_)); });
      finished_all = unfinished_.fetch_sub(1) == 1;
    }
    if (finished_all) Try(finish_);
    return finished_all;
  }

  // After Run() has returned true: the first error of any block.
  xla::ffi::Error error() const {
    return error_.value_or(xla::ffi::Error::Success());
  }

  void Complete() {
    error_ ? promise_.SetError(*error_) : promise_.SetAvailable();
  }

 private:
  // An exception that leaves a task of the pool would end the process.
  template <typename Fn>
  void Try(Fn& fn) {
    try {
      fn();
    } catch (const std::exception& e) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_) error_ = xla::ffi::Error::Internal(e.what());
    }
  }
  template <typename Fn>
  void Try(Fn&& fn) {
    Try(fn);
  }

  const int64_t n_;
  const int64_t grain_;
  const int64_t blocks_;
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> unfinished_;
  Body body_;
  Finish finish_;
  std::mutex mutex_;
  std::optional<xla::ffi::Error> error_;
  xla::ffi::Promise promise_;
};

struct Nothing {
  void operator()() const {}
};

}  // namespace internal

// Calls body(begin, end) for ranges of at most `grain` that cover [0, n), then
// finish(), on the calling thread and as many others as there is work for.
//
// The calling thread works too and never waits: what other threads have not
// finished when no range is left is reported through a Future. (A blocking
// fork-join deadlocks when all threads of the pool wait: openxla/xla#46345.)
// `body` and `finish` are kept until then, so they capture by value. The ranges
// depend on n and grain only, never on the number of threads. Exceptions become
// an error of the call.
template <typename Body, typename Finish = internal::Nothing>
Status ParallelFor(xla::ffi::ThreadPool& pool, int64_t n, int64_t grain,
                   Body body, Finish finish = {}) {
  using Loop = internal::ParallelLoop<Body, Finish>;
  if (n <= grain) {  // Saves the shared state.
    if (n > 0) body(int64_t{0}, n);
    finish();
    return xla::ffi::Error::Success();
  }
  auto loop =
      std::make_shared<Loop>(n, grain, std::move(body), std::move(finish));
  const int64_t threads = std::min(pool.num_threads(), loop->blocks());
  if (threads <= 1) {
    loop->Run();
    return loop->error();
  }
  xla::ffi::Future future = loop->future();
  for (int64_t i = 1; i < threads; ++i) {
    pool.Schedule([loop] {
      if (loop->Run()) loop->Complete();
    });
  }
  if (loop->Run()) return loop->error();
  return future;
}

// The grain that keeps work below about 128 KiB of memory traffic on one
// thread: waking another one costs as much as moving that.
inline int64_t Grain(int64_t bytes_per_item) {
  constexpr int64_t kBytes = 128 * 1024;
  return std::max<int64_t>(1, kBytes / std::max<int64_t>(1, bytes_per_item));
}

}  // namespace xla_ffi_ops

namespace xla::ffi {

template <ExecutionStage stage>
struct ResultEncoding<stage, xla_ffi_ops::Status> {
  static std::variant<XLA_FFI_Error*, XLA_FFI_Future*> Encode(
      const XLA_FFI_Api* api, XLA_FFI_ExecutionContext* ctx,
      xla_ffi_ops::Status status) {
    if (auto* error = std::get_if<Error>(&status.value_)) {
      return ResultEncoding<stage, Error>::Encode(api, ctx, std::move(*error));
    }
    return ResultEncoding<stage, Future>::Encode(
        api, ctx, std::move(std::get<Future>(status.value_)));
  }
};

}  // namespace xla::ffi

#endif  // XLA_FFI_OPS_PARALLEL_H_
