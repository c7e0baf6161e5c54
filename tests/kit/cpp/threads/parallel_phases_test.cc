// SPDX-License-Identifier: Apache-2.0
// Loops of parallel.h in several phases.
#include <atomic>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/kit/cpp/fake_xla.h"
#include "tests/kit/cpp/pools.h"
#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/threads/parallel.h"

namespace xla_ffi_ops {
namespace {

namespace ffi = ::xla::ffi;

// Each phase reads what all ranges, and `finish`, of the one before have
// written. Nothing is atomic: ThreadSanitizer sees what is not ordered.
void TestPhasesFollowEachOther() {
  for (const int64_t threads : {0, 1, 2, 3, 8}) {
    for (const int64_t n : {0, 1, 2, 7, 100}) {
      for (const int64_t phases : {1, 2, 5}) {
        FakeXla xla(threads);
        Threads pool(xla);
        std::vector<int64_t> x(n, 1);
        std::vector<int64_t> totals;
        HandlerResult status = ParallelPhases(
            xla.pool(), phases, n, 1,
            [&](int64_t phase, int64_t begin, int64_t) {
              CHECK(static_cast<int64_t>(totals.size()) == phase);
              if (phase > 0) x[begin] += totals.back();
            },
            [&](int64_t phase) {
              CHECK(static_cast<int64_t>(totals.size()) == phase);
              totals.push_back(std::accumulate(x.begin(), x.end(), int64_t{0}));
            });
        pool.Join();
        CHECK(Result(status).success());
        CHECK(static_cast<int64_t>(totals.size()) == phases);
        for (int64_t i = 0, value = 1; i < phases; ++i) {
          CHECK(totals[i] == n * value);
          value += n * value;
        }
      }
    }
  }
}

// A thread of the pool that begins late, or never, is not waited for.
void TestNeverWaitsForThePool() {
  FakeXla xla(4);
  int calls = 0;
  HandlerResult status = ParallelPhases(
      xla.pool(), 3, 10, 1, [&](int64_t, int64_t, int64_t) { ++calls; });
  CHECK(Done(status));
  CHECK(calls == 30);
  xla.RunTasks();
  CHECK(calls == 30);
}

// Another thread is at work on a range of the first phase.
void TestWaitsForRangesAtWork() {
  FakeXla xla(2);
  SlowHelper helper(xla);
  std::thread later;
  int done[2] = {};
  std::atomic<int> sums{0};
  HandlerResult status = ParallelPhases(
      xla.pool(), 2, 2, 1, [&](int64_t phase, int64_t begin, int64_t) {
        if (phase == 1) {
          sums += done[0] + done[1];
          return;
        }
        if (begin == 1) helper.WaitForTheOther();
        if (begin == 0) later = std::thread([&] { helper.GoOn(); });
        done[begin] = 1;
      });
  later.join();
  CHECK(Result(status).success());
  CHECK(sums == 4);
}

void TestErrorEndsAllPhases() {
  for (const int64_t threads : {1, 4}) {
    for (const int64_t n : {0, 10}) {
      FakeXla xla(threads);
      Threads pool(xla);
      HandlerResult status = ParallelPhases(
          xla.pool(), 3, n, 1,
          [](int64_t phase, int64_t begin, int64_t) {
            CHECK(phase < 2);
            return phase == 1 && begin > 3
                       ? ffi::Error::Internal(std::to_string(begin))
                       : ffi::Error::Success();
          },
          [&](int64_t phase) {
            CHECK(phase == 0 || n == 0);
            return phase == 1 ? ffi::Error::Internal("finish")
                              : ffi::Error::Success();
          });
      pool.Join();
      CHECK(Result(status).message() == (n == 0 ? "finish" : "4"));
    }
  }
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;  // NOLINT
  TestPhasesFollowEachOther();
  TestNeverWaitsForThePool();
  TestWaitsForRangesAtWork();
  TestErrorEndsAllPhases();
}
