// SPDX-License-Identifier: Apache-2.0
// Scans and recurrences over threads, for the sanitizers: results have the same
// bits for any number of threads.
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/kit/cpp/fake_xla.h"
#include "tests/kit/cpp/pools.h"
#include "xla_ffi_ops/scans/recurrence_threads.h"
#include "xla_ffi_ops/scans/scan_along_axis.h"

namespace xla_ffi_ops {
namespace {

std::vector<float> Numbers(int64_t n) {
  std::vector<float> x(n);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = 0.75f + static_cast<float>(i * 37 % 101) / 256;
  }
  return x;
}

// Calls run(device, y) with 1, 2 and 5 threads.
template <typename Run>
void CheckThreads(int64_t size, Run run) {
  std::vector<float> first;
  for (const int64_t count : {1, 2, 5}) {
    std::vector<float> y(size, -1.0f);
    FakeXla xla(count);
    Threads threads(xla);
    HandlerResult status = run(CpuContext{xla.pool()}, y.data());
    threads.Join();
    CHECK(Result(status).success());
    if (first.empty()) first = y;
    CHECK(std::memcmp(y.data(), first.data(), size * sizeof(float)) == 0);
  }
}

template <typename Op, typename OpDTypes>
void TestScan() {
  const int type = internal::IndexIn(OpDTypes(), ffi::F32);
  const std::vector<typename Op::template Start<float>> starts(300, 2);
  // A long row is shared by threads; so are many rows, and columns.
  constexpr int64_t kShapes[][3] = {
      {1, 300001, 1}, {300, 301, 1}, {2, 301, 99}, {12, 1000, 1}};
  for (const auto& [rows, n, columns] : kShapes) {
    const std::vector<float> x = Numbers(rows * n * columns);
    for (const bool reverse : {false, true}) {
      for (const void* from :
           {(const void*)nullptr, (const void*)starts.data()}) {
        CheckThreads(x.size(), [&](const CpuContext& device, float* y) {
          return ScanRows(device, MakeScan<Op>(type, n, reverse, from),
                          x.data(), y, rows, columns);
        });
      }
    }
  }
}

void TestRecurrence() {
  constexpr int64_t kShapes[][3] = {
      {1, 300001, 1}, {300, 301, 1}, {2, 301, 99}, {12, 1000, 1}};
  for (const auto& [rows, n, columns] : kShapes) {
    const std::vector<float> x = Numbers(rows * n * columns);
    const RowMap all{1, {1}, {1}};
    const RecurrenceOperand<float> operand{x.data(), n, columns, all, all};
    for (const bool reverse : {false, true}) {
      for (const bool shifted : {false, true}) {
        CheckThreads(x.size(), [&](const CpuContext& device, float* y) {
          const Recurrence<float> call{n,       columns, reverse, shifted,
                                       operand, operand, {},      y};
          return RunRecurrence(device, call, rows);
        });
        const int64_t size = rows * columns;
        CheckThreads(6 * size, [&](const CpuContext& device, float* y) {
          const Recurrence<float> call{n,       columns, reverse, shifted,
                                       operand, operand, {},      nullptr};
          double* const m = reinterpret_cast<double*>(y);
          return RunEnds(
              device,
              RecurrenceEnds<float>{call, false, m,
                                    reinterpret_cast<int64_t*>(m + size),
                                    m + 2 * size},
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
  TestScan<internal::Sum, ScanDTypes>();
  TestScan<internal::Product, ScanDTypes>();
  TestScan<internal::Extremum<true>, ScanDTypes>();
  TestScan<internal::LogSumExp, FloatDTypes>();
  TestRecurrence();
}
