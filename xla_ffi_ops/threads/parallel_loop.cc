// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/threads/parallel_loop.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "xla_ffi_ops/threads/handler_result.h"

namespace xla_ffi_ops::internal {

using xla::ffi::Error;

namespace {

// About what it takes to hand a call's end to another thread.
constexpr std::chrono::microseconds kBriefly(50);

}  // namespace

Error CurrentError() {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return NoMemory();
    } catch (const std::exception& e) {
      return Error::Internal(e.what());
    } catch (...) {
      return Error::Internal("unknown exception");
    }
  } catch (...) {  // for the message
    return NoMemory();
  }
}

void Resolve(xla::ffi::Promise promise, const Error& error) {
  if (error.success()) {
    promise.SetAvailable();
  } else {
    promise.SetError(Try<Error>([&] { return error; }));
  }
}

Error Wait(xla::ffi::Future& future) {
  Error result;
  std::atomic<bool> done{false};
  const auto finish = [&](const std::optional<Error>& error) {
    result = Try<Error>([&] { return error.value_or(Error::Success()); });
    done.store(true, std::memory_order_release);
  };
  WhenDone(future, std::ref(finish));
  while (!done.load(std::memory_order_acquire)) std::this_thread::yield();
  return result;
}

ParallelLoop::ParallelLoop(const Split& split)
    : split_(split),
      shares_(split.shares > 1 ? split.shares : 0),
      unfinished_(split.ranges) {
  BeginShares();
}

int64_t ParallelLoop::First(int64_t share) const {
  const int64_t longer = split_.ranges % split_.shares;
  return split_.ranges / split_.shares * share + std::min(share, longer);
}

void ParallelLoop::BeginShares() {
  for (size_t i = 0; i < shares_.size(); ++i) {
    shares_[i].store(First(i), std::memory_order_relaxed);
  }
}

// next_ has counted the caller, and counts as many as there are ranges. So some
// share has one left.
int64_t ParallelLoop::Take(int64_t share) {
  while (true) {
    const int64_t end = First(share + 1);
    std::atomic<int64_t>& next = shares_[share];
    if (next.load(std::memory_order_relaxed) < end) {
      const int64_t range = next.fetch_add(1, std::memory_order_relaxed);
      if (range < end) return range;
    }
    share = (share + 1) % split_.shares;
  }
}

bool ParallelLoop::Run(int64_t share) {
  const int64_t steps = split_.ranges + 1;
  int64_t next;
  while ((next = next_.fetch_add(1, std::memory_order_relaxed)) <
         split_.ranges * split_.phases) {
    const int64_t phase = next / split_.ranges;
    // Running threads have taken, or are taking, all ranges of the phase
    // before. So this takes no longer than a range does.
    while (phase_.load(std::memory_order_acquire) < phase) {
      std::this_thread::yield();
    }
    const int64_t range = shares_.empty() ? next % split_.ranges : Take(share);
    const int64_t step = phase * steps + range;
    const int64_t begin = range * split_.grain;
    const int64_t end = begin + std::min(split_.grain, split_.n - begin);
    if (!Skips(step)) Done(step, CallBody(phase, begin, end));
    if (unfinished_.fetch_sub(1, std::memory_order_release) > 1) continue;
    unfinished_.load(std::memory_order_acquire);  // What all threads have done.
    const int64_t last = (phase + 1) * steps - 1;
    if (!Skips(last)) Done(last, CallFinish(phase));
    if (phase + 1 == split_.phases) {
      // A task may start only later, and keep the loop alive until then.
      DestroyFunctions();
      Release();
      phase_.store(split_.phases, std::memory_order_release);
      return true;
    }
    unfinished_.store(split_.ranges, std::memory_order_relaxed);
    BeginShares();
    phase_.store(phase + 1, std::memory_order_release);
  }
  return false;
}

bool ParallelLoop::WaitBriefly() const {
  const auto end = std::chrono::steady_clock::now() + kBriefly;
  while (phase_.load(std::memory_order_acquire) < split_.phases) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  Acquire();
  return true;
}

void ParallelLoop::Done(int64_t step, Error error) {
  if (error.success()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Skips(step)) return;
  failed_.store(step, std::memory_order_relaxed);
  error_ = std::move(error);
}

HandlerResult ShareLoop(xla::ffi::ThreadPool pool, int64_t threads,
                        std::shared_ptr<ParallelLoop> loop) {
  xla::ffi::Promise promise;
  xla::ffi::Future future(promise);
  try {
    for (int64_t i = 1; i < threads; ++i) {
      pool.Schedule(Task([loop, promise, i] {
        if (loop->Run(i)) Resolve(promise, loop->error());
      }));
    }
  } catch (const std::bad_alloc&) {
    // The threads that there is memory for do the work.
  }
  if (loop->Run() || loop->WaitBriefly()) return loop->error();
  return future;
}

}  // namespace xla_ffi_ops::internal
