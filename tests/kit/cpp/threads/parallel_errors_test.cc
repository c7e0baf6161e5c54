// SPDX-License-Identifier: Apache-2.0
// The errors of the loops of parallel.h.
#include <atomic>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "tests/kit/cpp/fake_xla.h"
#include "tests/kit/cpp/pools.h"
#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/threads/parallel.h"

namespace xla_ffi_ops {
namespace {

namespace ffi = ::xla::ffi;

// The helper does its share, from 50 on, and then begins range 0. Meanwhile
// range 1 fails, and range 0 fails later. Ranges from 2 on are not begun.
void TestErrorIsThatOfTheLowestRange() {
  FakeXla xla(2);
  SlowHelper helper(xla);
  std::atomic<int> calls{0};
  bool finished = false;
  HandlerResult status = ParallelFor(
      xla.pool(), 100, 1,
      [&](int64_t begin, int64_t) {
        ++calls;
        if (begin >= 50) return ffi::Error::Success();
        if (begin == 0) helper.WaitForTheOther();
        return ffi::Error(ffi::ErrorCode::kNotFound, std::to_string(begin));
      },
      [&] { finished = true; });
  CHECK(!Done(status));
  CHECK(calls == 52);
  helper.GoOn();
  const ffi::Error error = Result(status);
  CHECK(error.errc() == ffi::ErrorCode::kNotFound);
  CHECK(error.message() == "0");
  CHECK(calls == 52);
  CHECK(!finished);
}

// The second range fails last in time.
void TestErrorOfAHigherRangeIsDropped() {
  FakeXla xla(2);
  Event first_started;
  Event second_started;
  Event go_on;
  std::thread helper;
  xla.schedule = [&](FakeXla::Task task) {
    helper = std::thread([&first_started, task = std::move(task)] {
      first_started.Wait();
      task();
    });
  };
  HandlerResult status =
      ParallelFor(xla.pool(), 2, 1, [&](int64_t begin, int64_t) {
        if (begin == 0) {
          first_started.Set();
          second_started.Wait();
        } else {
          second_started.Set();
          go_on.Wait();
        }
        return ffi::Error::Internal(std::to_string(begin));
      });
  CHECK(!Done(status));
  go_on.Set();
  helper.join();
  CHECK(Result(status).message() == "0");
}

void TestErrorIsTheSameForAnyThreads() {
  for (int repetition = 0; repetition < 100; ++repetition) {
    for (const int64_t threads : {0, 1, 2, 8}) {
      FakeXla xla(threads);
      Threads pool(xla);
      std::atomic<bool> finished{false};
      HandlerResult status = ParallelFor(
          xla.pool(), 300, 3,
          [](int64_t begin, int64_t) {
            return begin < 60 ? ffi::Error::Success()
                              : ffi::Error::Internal(std::to_string(begin));
          },
          [&] { finished = true; });
      pool.Join();
      CHECK(Result(status).message() == "60");
      CHECK(!finished);
    }
  }
}

template <typename Exception>
void TestException(const Exception& exception, const std::string& message) {
  for (const int64_t threads : {0, 4}) {
    for (const int64_t n : {0, 1, 10}) {  // 0: in finish
      FakeXla xla(threads);
      xla.schedule = [](FakeXla::Task task) {
        std::thread(std::move(task)).join();
      };
      HandlerResult status = ParallelFor(
          xla.pool(), n, 1,
          [&](int64_t begin, int64_t) {
            if (begin == n - 1) throw exception;
          },
          [&] {
            CHECK(n == 0);
            throw exception;
          });
      const ffi::Error error = Result(status);
      CHECK(error.errc() == ffi::ErrorCode::kInternal);
      CHECK(error.message() == message);
    }
  }
}

void TestErrorOfFinish() {
  for (const int64_t threads : {0, 4}) {
    FakeXla xla(threads);
    HandlerResult status = ParallelFor(
        xla.pool(), 10, 1, [](int64_t, int64_t) {},
        [] { return ffi::Error::InvalidArgument("finish"); });
    CHECK(Result(status).message() == "finish");
    xla.RunTasks();
  }
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;  // NOLINT
  TestErrorIsThatOfTheLowestRange();
  TestErrorOfAHigherRangeIsDropped();
  TestErrorIsTheSameForAnyThreads();
  TestException(std::runtime_error("text"), "text");
  TestException(std::bad_alloc(), "out of memory");
  TestException(42, "unknown exception");
  TestErrorOfFinish();
}
