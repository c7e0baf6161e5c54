// SPDX-License-Identifier: Apache-2.0
// The machinery of parallel.h; not for handlers.
#ifndef XLA_FFI_OPS_KIT_PARALLEL_LOOP_H_
#define XLA_FFI_OPS_KIT_PARALLEL_LOOP_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "xla/ffi/api/ffi.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace xla_ffi_ops::internal {

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

// So short a message needs no memory.
inline xla::ffi::Error NoMemory() {
  return xla::ffi::Error::Internal("out of memory");
}

// Returns what fn returns, Success for void, or what it throws as an error: an
// exception that leaves a task of the pool would end the process.
template <typename Result, typename Fn>
Result Try(Fn&& fn) {
  try {
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<Fn>>) {
        fn();
        return xla::ffi::Error::Success();
      } else {
        return fn();
      }
    } catch (const std::bad_alloc&) {
      return NoMemory();
    } catch (const std::exception& e) {
      return xla::ffi::Error::Internal(e.what());
    } catch (...) {
      return xla::ffi::Error::Internal("unknown exception");
    }
  } catch (...) {  // for the message
    return NoMemory();
  }
}

inline void Resolve(xla::ffi::Promise promise, const xla::ffi::Error& error) {
  if (error.success()) {
    promise.SetAvailable();
  } else {
    promise.SetError(Try<xla::ffi::Error>([&] { return error; }));
  }
}

// Has fn(error) called when the work of `future` is done. If there is no memory
// for that, it waits for the work, or for memory: an error would be reported
// while other threads still work on the buffers.
template <typename Fn>
void WhenDone(xla::ffi::Future& future, Fn fn) {
  while (true) {
    try {
      return future.OnReady(fn);
    } catch (const std::bad_alloc&) {
      std::this_thread::yield();
    }
  }
}

// Waits, which is for lack of memory alone: all threads of a pool that wait
// would never end (see ParallelFor, whose threads do not wait).
inline xla::ffi::Error Wait(xla::ffi::Future& future) {
  xla::ffi::Error result;
  std::atomic<bool> done{false};
  const auto finish = [&](const std::optional<xla::ffi::Error>& error) {
    result = Try<xla::ffi::Error>(
        [&] { return error.value_or(xla::ffi::Error::Success()); });
    done.store(true, std::memory_order_release);
  };
  WhenDone(future, std::ref(finish));
  while (!done.load(std::memory_order_acquire)) std::this_thread::yield();
  return result;
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

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_PARALLEL_LOOP_H_
