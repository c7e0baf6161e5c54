// SPDX-License-Identifier: Apache-2.0
// The ranges of parallel.h, which are the same for any number of threads.
#include "xla_ffi_ops/threads/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include "tests/kit/cpp/fake_xla.h"
#include "tests/kit/cpp/pools.h"
#include "xla/ffi/api/ffi.h"

namespace {

std::atomic<int64_t> allocations{0};

}  // namespace

// Not inlined, where GCC would see `new` paired with std::free and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace xla_ffi_ops {
namespace {

namespace ffi = ::xla::ffi;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

using Ranges = std::multiset<std::pair<int64_t, int64_t>>;

Ranges Expected(int64_t n, int64_t grain) {
  Ranges ranges;
  for (int64_t begin = 0; begin < n;) {
    const int64_t size = std::max<int64_t>(1, grain);
    const int64_t end = begin + std::min(size, n - begin);
    ranges.emplace(begin, end);
    begin = end;
  }
  return ranges;
}

void TestRangesDoNotDependOnThreads() {
  for (const int64_t threads : {-1, 0, 1, 2, 3, 7, 100}) {
    for (const int64_t n : {0, 1, 2, 5, 64, 1000, 20001}) {
      for (const int64_t grain : {int64_t{-1}, int64_t{0}, int64_t{1},
                                  int64_t{3}, int64_t{64}, n, kMax}) {
        FakeXla xla(threads);
        Threads pool(xla);
        std::mutex mutex;
        Ranges ranges;
        int finished = 0;
        HandlerResult status = ParallelFor(
            xla.pool(), n, grain,
            [&](int64_t begin, int64_t end) {
              const std::lock_guard<std::mutex> lock(mutex);
              CHECK(finished == 0);
              ranges.emplace(begin, end);
            },
            [&] { ++finished; });
        pool.Join();
        CHECK(Result(status).success());
        const Ranges expected = Expected(n, grain);
        CHECK(ranges == expected);
        CHECK(finished == 1);
        const bool shared = n >= 2 * (grain == kMax ? n : grain);
        const auto most = shared ? static_cast<int64_t>(expected.size()) : 1;
        CHECK(xla.scheduled ==
              std::max<int64_t>(0, std::min(threads, most) - 1));
      }
    }
  }
}

void TestHugeRanges() {
  FakeXla xla(2);
  Ranges ranges;
  const int64_t grain = kMax / 2 + 2;
  HandlerResult status = ParallelFor(
      xla.pool(), kMax, grain,
      [&](int64_t begin, int64_t end) { ranges.emplace(begin, end); });
  CHECK(Result(status).success());
  CHECK(ranges == (Ranges{{0, grain}, {grain, kMax}}));
  xla.RunTasks();
}

void TestNegativeNumberIsNone() {
  FakeXla xla(2);
  int finished = 0;
  HandlerResult status = ParallelFor(
      xla.pool(), -5, 1, [](int64_t, int64_t) { CHECK(false); },
      [&] { ++finished; });
  CHECK(Result(status).success());
  CHECK(finished == 1);
}

void TestSmallWorkAllocatesNothing() {
  for (const int64_t threads : {0, 1, 8}) {
    FakeXla xla(threads);
    ffi::ThreadPool pool = xla.pool();
    const int64_t n = threads == 8 ? 5 : 500;
    const int64_t before = allocations;
    int64_t sum = 0;
    const HandlerResult status = ParallelFor(
        pool, n, 5, [&](int64_t begin, int64_t end) { sum += end - begin; });
    CHECK(allocations == before);
    CHECK(Done(status));
    CHECK(sum == n);
    CHECK(xla.scheduled == 0);
  }
}

void TestGrain() {
  CHECK(Grain(0) == 256 * 1024);
  CHECK(Grain(-1) == 256 * 1024);
  CHECK(Grain(1000) == 262);
  CHECK(Grain(256 * 1024) == 1);
  CHECK(Grain(kMax) == 1);
  CHECK(Grain(1000, 523) == 262);  // one thread
  CHECK(Grain(1000, 524) == 65);
  CHECK(Grain(1000, 2095) == 261);
  CHECK(Grain(1000, kMax) == 262);
  CHECK(Grain(256 * 1024, 2) == 1);
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;  // NOLINT
  TestRangesDoNotDependOnThreads();
  TestHugeRanges();
  TestNegativeNumberIsNone();
  TestSmallWorkAllocatesNothing();
  TestGrain();
}
