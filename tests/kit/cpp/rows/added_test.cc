// SPDX-License-Identifier: Apache-2.0
// A formula with StoreAdded, which stores what the last pass adds: in place of
// an operand, too, if nobody wants the result, and if it exceeds the caches.
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/kit/cpp/fake_xla.h"
#include "xla_ffi_ops/rows/cpu/cpu_kernels.h"
#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops {
namespace {

// x^2 over its mean.
template <typename Acc>
struct SquareFormula {
  static constexpr int kInputs = 1, kOutputs = 1, kSums = 0, kPasses = 1;
  using Weights = WeightDefaults<>;
  struct Row {
    Acc mean;
  };

  Acc* mean;

  XLA_FFI_OPS_HD Row Load(int64_t) const { return {}; }
  XLA_FFI_OPS_HD Sums<Acc, 1> Add(Pass<0>, const Row&, Acc x) const {
    return {{x * x}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<0>, Row& row, Sums<Acc, 1> sums,
                             Acc cols) const {
    row.mean = sums.value[0] / cols;
  }
  XLA_FFI_OPS_HD void Save(int64_t i, const Row& row) const {
    mean[i] = row.mean;
  }
  XLA_FFI_OPS_HD Values<Acc, 1> Store(const Row& row, Acc x) const {
    return StoreAdded(row, x * x);
  }
  XLA_FFI_OPS_HD Values<Acc, 1> StoreAdded(const Row& row, Acc square) const {
    return {{square / row.mean}};
  }
};

template <typename T>
void Test(int64_t cols, bool uncached) {
  using Acc = Accumulator<T>;
  constexpr int64_t kRows = 3;
  std::vector<T> x(kRows * cols);
  for (size_t i = 0; i < x.size(); ++i) x[i] = T(static_cast<float>(i % 7 + 1));
  RowMap each;
  each.stride[0] = 1;
  const auto run = [=](const std::vector<T>& x, T* y) {
    std::vector<Acc> mean(kRows);
    const SquareFormula<Acc> f{mean.data()};
    RunFormula(Cpu(), f, {0, 1, kRows, cols, nullptr, uncached},
               RowArrays<SquareFormula<Acc>, T, T>{
                   {Rows<const T>{x.data(), cols, each}}, {}, {y}},
               {});
    return mean;
  };
  std::vector<T> y(x.size()), in_place = x;
  const std::vector<Acc> mean = run(x, y.data());
  run(x, nullptr);
  CHECK(run(in_place, in_place.data()) == mean);
  for (int64_t i = 0; i < kRows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < cols; ++j) {
      sum += static_cast<double>(x[i * cols + j]) * x[i * cols + j];
    }
    CHECK(std::abs(mean[i] * cols / sum - 1) < 1e-5);
    for (int64_t k = i * cols; k < (i + 1) * cols; ++k) {
      const T expected(static_cast<Acc>(x[k]) * x[k] / mean[i]);
      CHECK(y[k] == expected && in_place[k] == expected);
    }
  }
}

template <typename T>
void Test() {
  for (const int64_t cols : {1, 5, 33, 4096, 4097, 10'000, 65'536, 65'537}) {
    for (const bool uncached : {false, true}) Test<T>(cols, uncached);
  }
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;  // NOLINT
  Test<float>();
  Test<double>();
  Test<Float16>();
  Test<BFloat16>();
}
