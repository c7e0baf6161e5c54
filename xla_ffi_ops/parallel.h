// SPDX-License-Identifier: Apache-2.0
// Parallel loops on XLA's intra-op thread pool.
#ifndef XLA_FFI_OPS_PARALLEL_H_
#define XLA_FFI_OPS_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/device.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace xla_ffi_ops {

// What a handler returns: an Error, possibly Success, or a Future of one while
// other threads still work. XLA takes an Error much faster than a Future.
struct Status : std::variant<xla::ffi::Error, xla::ffi::Future> {
  using variant::variant;
};

// The device argument of a handler on the CPU. It must not be used once the
// handler has returned, so not in a loop's body either.
struct CpuContext {
  xla::ffi::ThreadPool pool;
};

namespace internal {

// For ThreadSanitizer, which does not see how XLA passes work from thread to
// thread: what was before a Release() is before all that follows an Acquire().
#ifdef __SANITIZE_THREAD__
inline char passing;
inline void Acquire() { __tsan_acquire(&passing); }
inline void Release() { __tsan_release(&passing); }
#else
inline void Acquire() {}
inline void Release() {}
#endif

// What the thread pool gets: it moves it once, and then runs it.
template <typename Fn>
class Task {
 public:
  explicit Task(Fn fn) : fn_(std::move(fn)) {}
  Task(Task&& other) : fn_(std::move(other.fn_)) { Release(); }

  void operator()() {
    Acquire();
    fn_();
  }

 private:
  Fn fn_;
};

// Returns what fn returns, Success for void, or what it throws as an error: an
// exception that leaves a task of the pool would end the process.
template <typename Result, typename Fn>
Result Try(Fn&& fn) {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Fn>>) {
      fn();
      return xla::ffi::Error::Success();
    } else {
      return fn();
    }
  } catch (const std::exception& e) {  // std::bad_alloc, for one
    return xla::ffi::Error::Internal(e.what());
  } catch (...) {
    return xla::ffi::Error::Internal("unknown exception");
  }
}

inline void Resolve(xla::ffi::Promise promise, const xla::ffi::Error& error) {
  if (error.success()) {
    promise.SetAvailable();
  } else {
    promise.SetError(error);
  }
}

template <typename Body, typename Finish>
class ParallelLoop {
 public:
  ParallelLoop(int64_t n, int64_t grain, int64_t ranges, Body body,
               Finish finish)
      : n_(n),
        grain_(grain),
        ranges_(ranges),
        unfinished_(ranges),
        body_(std::move(body)),
        finish_(std::move(finish)) {}

  // Takes ranges until none is left. Returns true in the thread that ended the
  // last one, when all of the loop's work is done and `error` is final.
  bool Run() {
    bool last = false;
    int64_t range;
    while ((range = next_.fetch_add(1, std::memory_order_relaxed)) < ranges_) {
      const int64_t begin = range * grain_;
      const int64_t end = begin + std::min(grain_, n_ - begin);
      Do(range, [&] { return std::as_const(*body_)(begin, end); });
      last = unfinished_.fetch_sub(1, std::memory_order_release) == 1;
    }
    if (!last) return false;
    unfinished_.load(std::memory_order_acquire);  // What all threads have done.
    Do(ranges_, *finish_);
    // A task may start only later, and keep the loop alive until then.
    body_.reset();
    finish_.reset();
    Release();
    return true;
  }

  const xla::ffi::Error& error() const { return error_; }

 private:
  // Skips what is above a failed range, and so never the lowest that fails.
  template <typename Fn>
  void Do(int64_t range, Fn&& fn) {
    if (range > failed_.load(std::memory_order_relaxed)) return;
    xla::ffi::Error error = Try<xla::ffi::Error>(fn);
    if (error.success()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (range > failed_.load(std::memory_order_relaxed)) return;
    failed_.store(range, std::memory_order_relaxed);
    error_ = std::move(error);
  }

  const int64_t n_;
  const int64_t grain_;
  const int64_t ranges_;
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> unfinished_;
  std::atomic<int64_t> failed_{std::numeric_limits<int64_t>::max()};
  std::optional<Body> body_;
  std::optional<Finish> finish_;
  std::mutex mutex_;  // of error_
  xla::ffi::Error error_;
};

struct Nothing {
  void operator()() const {}
};

}  // namespace internal

// Calls body(begin, end) for the ranges of `grain` items, of which the last may
// be shorter, that make up [0, n); and then finish(), once. The ranges depend
// on n and grain alone; their order, and the thread of each, on chance.
//
// The calling thread works too and never waits: what other threads have not
// finished when no range is left is reported through a Future. (A blocking
// fork-join deadlocks when all threads of the pool wait: openxla/xla#46345.) A
// single range, or a single thread, needs no memory and no Future.
//
// Both functions return void or an Error; an exception is an Internal error.
// The call's error is that of the lowest range that fails. Ranges above it may
// be left out then, and finish() is.
//
// `body` is called by several threads at once. It and `finish` are copied to
// where they live until the work is done, and destroyed just before the Future
// is resolved: they have to capture by value, and own what they work with.
template <typename Body, typename Finish = internal::Nothing>
Status ParallelFor(xla::ffi::ThreadPool pool, int64_t n, int64_t grain,
                   Body body, Finish finish = {}) {
  using Loop = internal::ParallelLoop<Body, Finish>;
  if (n <= 0) return internal::Try<xla::ffi::Error>(finish);
  grain = std::max<int64_t>(1, grain);
  const int64_t ranges = n / grain + (n % grain != 0);
  const int64_t threads =
      ranges == 1 ? 1 : std::min(pool.num_threads(), ranges);
  if (threads <= 1) {
    Loop loop(n, grain, ranges, std::move(body), std::move(finish));
    loop.Run();
    return loop.error();
  }
  const auto loop = std::make_shared<Loop>(n, grain, ranges, std::move(body),
                                           std::move(finish));
  xla::ffi::Promise promise;
  xla::ffi::Future future(promise);
  for (int64_t i = 1; i < threads; ++i) {
    pool.Schedule(internal::Task([loop, promise] {
      if (loop->Run()) internal::Resolve(promise, loop->error());
    }));
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

// Calls body(Cpu, begin, end) for ranges that make up [0, rows), as ParallelFor
// does. A row moves about `bytes_per_row` bytes of memory.
template <typename Body>
Status ForRows(const CpuContext& device, int64_t rows, int64_t bytes_per_row,
               Body body) {
  return ParallelFor(device.pool, rows, Grain(bytes_per_row),
                     [body = std::move(body)](int64_t begin, int64_t end) {
                       return body(Cpu(), begin, end);
                     });
}

// On CUDA, calls body(Cuda, 0, rows) if there are rows; it only enqueues work.
template <typename Body>
Status ForRows(Cuda device, int64_t rows, int64_t, Body body) {
  if (rows <= 0) return xla::ffi::Error::Success();
  return internal::Try<xla::ffi::Error>(
      [&] { return body(device, int64_t{0}, rows); });
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_PARALLEL_H_
