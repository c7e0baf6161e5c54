// SPDX-License-Identifier: Apache-2.0
// Scans and recurrences over threads, for the sanitizers: results have the same
// bits for any number of threads.
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/kit/cpp/fake_xla.h"
#include "tests/kit/cpp/pools.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_threads.h"
#include "xla_ffi_ops/scans/scan_along_axis.h"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops {
namespace {

template <typename T>
std::vector<T> Numbers(int64_t n) {
  std::vector<T> x(n);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = 0.75f + static_cast<float>(i * 37 % 101) / 256;
  }
  return x;
}

// Calls run(device, y) with 1, 2 and 8 threads, and in a full pool.
template <typename T, typename Run>
void CheckThreads(int64_t size, Run run) {
  std::vector<T> first;
  for (const int64_t count : {1, 2, 8}) {
    std::vector<T> y(size, T(-1.0f));
    FakeXla xla(count);
    Threads threads(xla);
    HandlerResult status = run(CpuContext{xla.pool()}, y.data());
    threads.Join();
    CHECK(Result(status).success());
    if (first.empty()) first = y;
    CHECK(std::memcmp(y.data(), first.data(), size * sizeof(T)) == 0);
  }
  // A full pool runs its first task at once, which then must not wait for
  // others.
  FakeXla full(8);
  full.schedule = [](FakeXla::Task task) { task(); };
  std::vector<T> y(size, T(-1.0f));
  HandlerResult status = run(CpuContext{full.pool()}, y.data());
  CHECK(Result(status).success());
  CHECK(std::memcmp(y.data(), first.data(), size * sizeof(T)) == 0);
}

template <typename Op>
void TestScan() {
  const std::vector<typename Op::template Start<float>> starts(300, 2);
  // A long row is shared by threads; so are many rows, and columns.
  constexpr int64_t kShapes[][3] = {
      {1, 300001, 1}, {300, 301, 1}, {2, 301, 99}, {12, 1000, 1}};
  for (const auto& [rows, n, columns] : kShapes) {
    const std::vector<float> x = Numbers<float>(rows * n * columns);
    for (const bool reverse : {false, true}) {
      for (const void* from :
           {(const void*)nullptr, (const void*)starts.data()}) {
        CheckThreads<float>(x.size(), [&](const CpuContext& device, float* y) {
          return ScanRows(device, MakeScan<Op, float>(n, reverse, from),
                          x.data(), y, rows, columns);
        });
      }
    }
  }
}

template <typename T>
void TestRecurrence() {
  // Strips of columns are whole vectors, whole lines of the cache, or neither.
  constexpr int64_t kShapes[][3] = {{1, 300001, 1}, {300, 301, 1},
                                    {2, 301, 99},   {12, 1000, 1},
                                    {3, 257, 100},  {1, 900, 512}};
  for (const auto& [rows, n, columns] : kShapes) {
    const std::vector<T> x = Numbers<T>(rows * n * columns);
    const RowMap all{1, {1}, {1}};
    const RecurrenceOperand<T> operand{x.data(), n, columns, all, all};
    for (const bool reverse : {false, true}) {
      for (const bool shifted : {false, true}) {
        CheckThreads<T>(x.size(), [&](const CpuContext& device, T* y) {
          const Recurrence<T> call{n,       columns, reverse, shifted,
                                   operand, operand, {},      y};
          return SplitRecurrence(device, call, rows);
        });
        const int64_t size = rows * columns;
        CheckThreads<double>(
            3 * size, [&](const CpuContext& device, double* y) {
              const Recurrence<T> call{n,       columns, reverse, shifted,
                                       operand, operand, {},      nullptr};
              return SplitEnds(
                  device,
                  RecurrenceEnds<T>{call, false, y,
                                    reinterpret_cast<int64_t*>(y + size),
                                    y + 2 * size},
                  rows);
            });
      }
    }
  }
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;
  TestScan<internal::Sum>();
  TestScan<internal::Product>();
  TestScan<internal::Extremum<true>>();
  TestScan<internal::LogSumExp>();
  TestRecurrence<float>();
  TestRecurrence<Float16>();
  TestRecurrence<BFloat16>();
}
