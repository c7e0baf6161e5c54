// SPDX-License-Identifier: Apache-2.0
// Who does the work of parallel.h, and when what it captured is gone.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/kit/cpp/fake_xla.h"
#include "tests/kit/cpp/pools.h"
#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/threads/parallel.h"

namespace xla_ffi_ops {
namespace {

namespace ffi = ::xla::ffi;

// Its copies are counted; a moved-from one counts too.
class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(&count) { ++*count_; }
  Counted(const Counted& other) : count_(other.count_) { ++*count_; }
  ~Counted() { --*count_; }

 private:
  std::atomic<int>* count_;
};

// The caller does all the work if the pool is busy with something else, and
// what the loop captured does not wait for the pool.
void TestNeverWaitsForThePool() {
  FakeXla xla(4);
  std::atomic<int> alive{0};
  int calls = 0;
  int finished = 0;
  {
    HandlerResult status = ParallelFor(
        xla.pool(), 10, 1,
        [&calls, counted = Counted(alive)](int64_t, int64_t) { ++calls; },
        [&finished, counted = Counted(alive)] { ++finished; });
    CHECK(Done(status));
    CHECK(Result(status).success());
  }
  CHECK(calls == 10);
  CHECK(finished == 1);
  CHECK(alive == 0);
  CHECK(xla.scheduled == 3);
  xla.RunTasks();
  CHECK(calls == 10);
  CHECK(finished == 1);
}

// The first task of the pool begins with the second of four shares, and then
// does the others.
void TestPoolThatRunsTasksAtOnce() {
  FakeXla xla(4);
  xla.schedule = [](FakeXla::Task task) { task(); };
  std::vector<int64_t> begun;
  const auto body = [&](int64_t begin, int64_t) { begun.push_back(begin); };
  HandlerResult status = ParallelFor(xla.pool(), 10, 1, body);
  CHECK(Result(status).success());
  CHECK(begun == std::vector<int64_t>({3, 4, 5, 6, 7, 8, 9, 0, 1, 2}));
  begun.clear();
  HandlerResult in_order = ParallelInOrder(xla.pool(), 10, 1, body);
  CHECK(Result(in_order).success());
  CHECK(begun == std::vector<int64_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

void TestFuture() {
  FakeXla xla(2);
  SlowHelper helper(xla);
  std::atomic<int> alive{0};
  int done[2] = {};  // Not atomic: ThreadSanitizer sees what is not ordered.
  int sum = 0;
  HandlerResult status = ParallelFor(
      xla.pool(), 2, 1,
      [&, counted = Counted(alive)](int64_t begin, int64_t) {
        if (begin == 1) helper.WaitForTheOther();
        done[begin] = 1;
      },
      [&, counted = Counted(alive)] { sum = done[0] + done[1]; });
  CHECK(!Done(status));
  bool resolved = false;
  status.Release().OnReady([&](const std::optional<ffi::Error>& error) {
    CHECK(!error.has_value());
    CHECK(sum == 2);
    CHECK(alive == 0);
    resolved = true;
  });
  CHECK(!resolved);
  CHECK(sum == 0);
  helper.GoOn();
  CHECK(resolved);
}

// Many loops at once, each of which is run by a thread of the same pool.
void TestLoopsInThePool() {
  FakeXla xla(8);
  std::mutex mutex;
  std::vector<std::thread> threads;
  xla.schedule = [&](FakeXla::Task task) {
    const std::lock_guard<std::mutex> lock(mutex);
    threads.emplace_back(std::move(task));
  };
  std::atomic<int> calls{0};
  std::atomic<int> finished{0};
  for (int i = 0; i < 20; ++i) {
    xla.schedule([&] {
      ParallelFor(
          xla.pool(), 50, 1, [&](int64_t, int64_t) { ++calls; },
          [&] { ++finished; });
    });
  }
  for (size_t i = 0;; ++i) {  // A thread may have added others before it ends.
    std::thread thread;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (i == threads.size()) break;
      thread = std::move(threads[i]);
    }
    thread.join();
  }
  CHECK(calls == 20 * 50);
  CHECK(finished == 20);
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;  // NOLINT
  TestNeverWaitsForThePool();
  TestPoolThatRunsTasksAtOnce();
  TestFuture();
  TestLoopsInThePool();
}
