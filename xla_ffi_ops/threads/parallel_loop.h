// SPDX-License-Identifier: Apache-2.0
// The machinery of parallel.h; not for handlers.
#ifndef XLA_FFI_OPS_THREADS_PARALLEL_LOOP_H_
#define XLA_FFI_OPS_THREADS_PARALLEL_LOOP_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "xla/ffi/api/ffi.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace xla_ffi_ops {

class HandlerResult;

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

// So short a message needs no memory.
inline xla::ffi::Error NoMemory() {
  return xla::ffi::Error::Internal("out of memory");
}

// The exception that is being handled.
xla::ffi::Error CurrentError();

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
  } catch (...) {
    return CurrentError();
  }
}

void Resolve(xla::ffi::Promise promise, const xla::ffi::Error& error);

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

// Waits until the work is done. Use this only if memory is lacking: if all
// threads of a pool waited, none would ever end. (In ParallelFor, a thread only
// waits for ranges that other threads have begun.)
xla::ffi::Error Wait(xla::ffi::Future& future);

// How a loop over n items is split, in each of its phases.
struct Split {
  int64_t n;
  int64_t grain;
  int64_t ranges;
  int64_t phases = 1;
  // A thread takes the ranges of its own share first. With one share, all
  // ranges begin in order.
  int64_t shares = 1;
};

class ParallelLoop {
 public:
  explicit ParallelLoop(const Split& split);
  virtual ~ParallelLoop() = default;

  // Takes ranges until none is left, those of its share first. Returns true in
  // the thread that ended the last one, when all of the loop's work is done and
  // `error` is final.
  bool Run(int64_t share = 0);

  // Waits for other threads to end the last ranges, for a moment. Returns true
  // if they have, and `error` is final.
  bool WaitBriefly() const;

  const xla::ffi::Error& error() const { return error_; }

 private:
  virtual xla::ffi::Error CallBody(int64_t phase, int64_t begin,
                                   int64_t end) = 0;
  virtual xla::ffi::Error CallFinish(int64_t phase) = 0;
  virtual void DestroyFunctions() = 0;

  // Steps after the first one that failed are skipped. The steps of a phase are
  // its ranges, and then `finish`.
  bool Skips(int64_t step) const {
    return step > failed_.load(std::memory_order_relaxed);
  }
  void Done(int64_t step, xla::ffi::Error error);

  // The first range of a share, which is the end of the one before.
  int64_t First(int64_t share) const;
  void BeginShares();  // no other thread is in Take
  int64_t Take(int64_t share);

  const Split split_;
  // The next range of each share; empty if there is one.
  std::vector<std::atomic<int64_t>> shares_;
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> phase_{0};
  std::atomic<int64_t> unfinished_;  // ranges of the phase
  std::atomic<int64_t> failed_{std::numeric_limits<int64_t>::max()};
  std::mutex mutex_;  // of error_
  xla::ffi::Error error_;
};

// Calls a function of ParallelPhases, or of ParallelFor, which has one phase.
template <typename Fn, typename... Args>
auto CallInPhase(Fn& fn, int64_t phase, Args... args) {
  if constexpr (std::is_invocable_v<Fn&, int64_t, Args...>) {
    return fn(phase, args...);
  } else {
    return fn(args...);
  }
}

// The phases of a loop over nothing.
template <typename Finish>
xla::ffi::Error FinishAll(int64_t phases, Finish& finish) {
  xla::ffi::Error error;
  for (int64_t phase = 0; phase < phases && error.success(); ++phase) {
    error = Try<xla::ffi::Error>([&] { return CallInPhase(finish, phase); });
  }
  return error;
}

template <typename Body, typename Finish>
class LoopOf final : public ParallelLoop {
 public:
  LoopOf(const Split& split, Body body, Finish finish)
      : ParallelLoop(split),
        body_(std::move(body)),
        finish_(std::move(finish)) {}

 private:
  xla::ffi::Error CallBody(int64_t phase, int64_t begin, int64_t end) override {
    return Try<xla::ffi::Error>(
        [&] { return CallInPhase(std::as_const(*body_), phase, begin, end); });
  }
  xla::ffi::Error CallFinish(int64_t phase) override {
    return Try<xla::ffi::Error>([&] { return CallInPhase(*finish_, phase); });
  }
  void DestroyFunctions() override {
    body_.reset();
    finish_.reset();
  }

  std::optional<Body> body_;
  std::optional<Finish> finish_;
};

// Shares a loop among this thread and up to `threads` - 1 of the pool.
HandlerResult ShareLoop(xla::ffi::ThreadPool pool, int64_t threads,
                        std::shared_ptr<ParallelLoop> loop);

struct Nothing {
  void operator()() const {}
};

}  // namespace internal
}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_THREADS_PARALLEL_LOOP_H_
