// SPDX-License-Identifier: Apache-2.0
// Thread pools for FakeXla, and the results of calls that use them.
#ifndef XLA_FFI_OPS_TESTS_KIT_POOLS_H_
#define XLA_FFI_OPS_TESTS_KIT_POOLS_H_

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/kit/cpp/fake_xla.h"
#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/threads/parallel.h"

namespace xla_ffi_ops {

// Happens once, and others wait for it.
class Event {
 public:
  void Set() {
    const std::lock_guard<std::mutex> lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

// A pool of threads, one for each task.
class Threads {
 public:
  explicit Threads(FakeXla& xla) {
    xla.schedule = [this](FakeXla::Task task) {
      threads_.emplace_back(std::move(task));
    };
  }
  void Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::vector<std::thread> threads_;
};

// Another thread that works on a loop, alone until it waits for the caller. The
// loop returns without it, and it goes on at GoOn().
class SlowHelper {
 public:
  explicit SlowHelper(FakeXla& xla) {
    xla.schedule = [this](FakeXla::Task task) {
      thread_ = std::thread(std::move(task));
      started_.Wait();
    };
  }
  // To be called in one of its ranges.
  void WaitForTheOther() {
    started_.Set();
    go_on_.Wait();
  }
  void GoOn() {
    go_on_.Set();
    thread_.join();
  }

 private:
  Event started_;
  Event go_on_;
  std::thread thread_;
};

inline bool Done(const HandlerResult& status) {
  return status.error() != nullptr;
}

// The error of a call whose work is done.
inline xla::ffi::Error Result(HandlerResult& status) {
  using xla::ffi::Error;
  if (status.error()) return *status.error();
  std::optional<Error> result;
  status.Release().OnReady([&](const std::optional<Error>& error) {
    result = error.value_or(Error::Success());
  });
  CHECK(result.has_value());
  return *result;
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_TESTS_KIT_POOLS_H_
