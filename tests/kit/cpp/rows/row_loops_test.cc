// SPDX-License-Identifier: Apache-2.0
// Loops over rows: how many there are, ForRows on every device, and SumRows.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/kit/cpp/fake_xla.h"
#include "tests/kit/cpp/pools.h"
#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/handler/checks.h"
#include "xla_ffi_ops/rows/calls/sum_rows.h"
#include "xla_ffi_ops/threads/parallel.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {
namespace {

namespace ffi = ::xla::ffi;

using Ranges = std::multiset<std::pair<int64_t, int64_t>>;

void TestForRows() {
  FakeXla xla(1);
  Ranges ranges;
  const CpuContext device{xla.pool()};
  HandlerResult status = ForRows(
      device, 300, 1000,
      [&](Cpu, int64_t begin, int64_t end) { ranges.emplace(begin, end); });
  CHECK(Result(status).success());
  CHECK(ranges == (Ranges{{0, 262}, {262, 300}}));
  status = ForRows(device, 1, 1, [](Cpu, int64_t, int64_t) {
    return ffi::Error::Internal("of a row");
  });
  CHECK(Result(status).message() == "of a row");
}

void TestForRowsOnCuda() {
  int stream = 0;
  const Cuda device{reinterpret_cast<CUstream_st*>(&stream)};
  Ranges ranges;
  const auto body = [&](Cuda where, int64_t begin, int64_t end) {
    CHECK(where.stream == device.stream);
    ranges.emplace(begin, end);
  };
  HandlerResult status = ForRows(device, 0, 1000, body);
  CHECK(Result(status).success());
  CHECK(ranges.empty());
  status = ForRows(device, 1'000'000, 1000, body);
  CHECK(Result(status).success());
  CHECK(ranges == (Ranges{{0, 1'000'000}}));
  status = ForRows(device, 1, 1, [](Cuda, int64_t, int64_t) {
    return ffi::Error::Internal("no launch");
  });
  CHECK(Result(status).message() == "no launch");
  status = ForRows(device, 1, 1, [](Cuda, int64_t, int64_t) {
    throw std::runtime_error("thrown");
  });
  CHECK(Result(status).message() == "thrown");
}

// The sum of row * x[j] for the rows of each group.
std::vector<float> SumOfRows(int64_t threads, int64_t groups, int64_t rows,
                             int64_t cols) {
  FakeXla xla(threads);
  Threads pool(xla);
  std::vector<float> sums(groups * cols, -1.0f);
  HandlerResult status = SumRows<float>(
      CpuContext{xla.pool()}, groups, rows, cols, 40'000, sums.data(),
      [=](Cpu, int64_t begin, int64_t end, float* sum) {
        CHECK(begin == end || begin / rows == (end - 1) / rows);
        std::fill_n(sum, cols, 0.0f);
        for (int64_t row = begin; row < end; ++row) {
          for (int64_t j = 0; j < cols; ++j) sum[j] += 1.0f / (row + j + 1);
        }
      });
  pool.Join();
  CHECK(Result(status).success());
  return sums;
}

void TestSumRows() {
  for (const int64_t groups : {0, 1, 2, 3, 70}) {
    for (const int64_t rows : {0, 1, 7, 8, 17, 521}) {
      for (const int64_t cols : {0, 1, 5}) {
        const std::vector<float> sums = SumOfRows(1, groups, rows, cols);
        for (int64_t i = 0; i < groups * cols; ++i) {
          double sum = 0;
          for (int64_t row = 0; row < rows; ++row) {
            sum += 1.0 / (i / cols * rows + row + i % cols + 1);
          }
          CHECK(std::abs(sums[i] - sum) < 1e-5);
        }
        for (const int64_t threads : {0, 2, 5}) {
          CHECK(SumOfRows(threads, groups, rows, cols) == sums);
        }
      }
    }
  }
}

void TestProduct() {
  constexpr int64_t kBig = int64_t{1} << 40;
  const auto product = [](std::vector<int64_t> shape) {
    return Product(shape);
  };
  CHECK(product({}) == 1);
  CHECK(product({2, 3}) == 6);
  CHECK(product({kBig, kBig}) == std::numeric_limits<int64_t>::max());
  CHECK(product({kBig, kBig, 0}) == 0);
}

// Sums of row and of row * j, of which only those that are wanted come.
void TestTwoSums(int64_t threads, int64_t groups, int64_t rows, int wanted) {
  constexpr int64_t kCols = 5;
  FakeXla xla(threads);
  Threads pool(xla);
  std::vector<double> outs[2];
  std::array<double*, 2> data{};
  for (int i = 0; i < 2; ++i) {
    outs[i].assign(groups * kCols + 1, -1.0);
    if ((wanted >> i & 1) != 0) data[i] = outs[i].data();
  }
  HandlerResult result = SumRows<double>(
      CpuContext{xla.pool()}, groups, rows, kCols, 40'000, data,
      [=](Cpu, int64_t begin, int64_t end, double* sums) {
        for (int i = 0; i < 2; ++i) {
          if ((wanted >> i & 1) == 0) continue;
          std::fill_n(sums, kCols, 0.0);
          for (int64_t k = 0; k < (end - begin) * kCols; ++k) {
            const int64_t row = begin + k / kCols, j = k % kCols;
            sums[j] += static_cast<double>(row * (i == 0 ? 1 : j));
          }
          sums += kCols;
        }
      });
  pool.Join();
  CHECK(Result(result).success());
  for (int i = 0; i < 2; ++i) {
    for (int64_t k = 0; k < groups * kCols; ++k) {
      const int64_t first = k / kCols * rows;
      const int64_t sum = rows * first + rows * (rows - 1) / 2;
      CHECK(outs[i][k] == (data[i] == nullptr ? -1.0
                           : i == 0           ? static_cast<double>(sum)
                                              : sum * (k % kCols)));
    }
    CHECK(outs[i][groups * kCols] == -1.0);
  }
}

void TestTwoSums() {
  for (const int64_t threads : {1, 2, 8}) {
    for (const int64_t groups : {0, 1, 3, 70}) {
      for (const int64_t rows : {0, 1, 9, 64, 521}) {
        for (const int wanted : {0, 1, 2, 3}) {
          TestTwoSums(threads, groups, rows, wanted);
        }
      }
    }
  }
}

// More memory than there is is an error, as it is thrown where the handler is.
void TestTooManySums() {
  FakeXla xla(1);
  bool thrown = false;
  float out = 0;
  try {
    SumRows<float>(CpuContext{xla.pool()}, 1, 1000, int64_t{1} << 56, 1, &out,
                   [](Cpu, int64_t, int64_t, float*) { CHECK(false); });
  } catch (const std::bad_alloc&) {
    thrown = true;
  } catch (const std::length_error&) {
    thrown = true;
  }
  CHECK(thrown);
}

void TestErrorOfSumRows() {
  for (const int64_t rows : {4, 1000}) {
    FakeXla xla(1);
    float sum = 0;
    HandlerResult status =
        SumRows<float>(CpuContext{xla.pool()}, 1, rows, 1, 1, &sum,
                       [=](Cpu, int64_t, int64_t end, float*) {
                         if (end == rows) throw std::runtime_error("the last");
                         return ffi::Error::Success();
                       });
    CHECK(Result(status).message() == "the last");
  }
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;  // NOLINT
  TestForRows();
  TestForRowsOnCuda();
  TestProduct();
  TestSumRows();
  TestTwoSums();
  TestTooManySums();
  TestErrorOfSumRows();
}
