// SPDX-License-Identifier: Apache-2.0
// The error of a sum does not grow with its length.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tests/kit/cpp/pools.h"
#include "tests/kit/cpp/rows/terms.h"
#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/rows/cpu/cpu_kernels.h"
#include "xla_ffi_ops/rows/formula.h"

namespace xla_ffi_ops {
namespace {

// The sums of x over a row and over rows.
template <typename Acc>
struct SumFormula {
  static constexpr int kInputs = 1, kOutputs = 1, kSums = 1, kPasses = 1;
  using Weights = WeightDefaults<>;
  struct Row {
    Acc sum;
  };

  Acc* sums;

  Row Load(int64_t) const { return {}; }
  Sums<Acc, 2> Add(Pass<0>, const Row&, Acc x) const { return {{x, -x}}; }
  void Finish(Pass<0>, Row& row, Sums<Acc, 2> total, Acc) const {
    row.sum = total.value[0] == -total.value[1] ? total.value[0] : NAN;
  }
  void Save(int64_t i, const Row& row) const { sums[i] = row.sum; }
  Values<Acc, 1> Store(const Row&, Acc x) const { return {{x}}; }
  Sums<Acc, 1> Column(const Row&, Acc x) const { return {{x}}; }
};

// Returns whether all is well.
template <typename T>
bool Test(int64_t n, double constant) {
  using Acc = Accumulator<T>;
  const Terms<T> terms(n, constant);
  std::vector<T> out(n);
  std::vector<Acc> sums(n);
  const SumFormula<Acc> f{sums.data()};
  RowMap map;
  map.stride[0] = 1;
  RowArrays<SumFormula<Acc>, T, T> arrays{
      {Rows<const T>{terms.values.data(), n, map}}, {}, {out.data()}};
  RunFormula(Cpu(), f, {0, 1, 1, n}, arrays, {nullptr});
  bool passes = terms.Compare("a row", sums[0]);

  arrays.inputs[0].cols = 1;
  const auto sum_rows = [&](Cpu cpu, int64_t begin, int64_t end, Acc* sum) {
    RunFormula(cpu, f, {begin, 1, end - begin, 1}, arrays, {sum});
  };
  Acc sum = 0;
  sum_rows(Cpu(), 0, n, &sum);
  passes &= terms.Compare("rows", sum);
  FakeXla xla(1);
  HandlerResult result =
      SumRows<Acc>(CpuContext{xla.pool()}, 1, n, 1, 1, &sum, sum_rows);
  CHECK(Result(result).success());
  return passes & terms.Compare("parts of rows", sum);
}

}  // namespace
}  // namespace xla_ffi_ops

// Of 2^10 to 2^n terms, or of 2^m to 2^n.
int main(int argc, char** argv) {
  using namespace xla_ffi_ops;  // NOLINT
  bool passes = true;
  const int most = argc > 1 ? std::atoi(argv[1]) : 18;
  for (int log = argc > 2 ? std::atoi(argv[2]) : 10; log <= most; log += 2) {
    for (const int64_t n : {int64_t{1} << log, (int64_t{1} << log) - 37}) {
      for (const double constant : {0.0, 0.1, 1.0 / 3, -0.7}) {
        passes &= Test<float>(n, constant);
        passes &= Test<double>(n, constant);
        passes &= Test<BFloat16>(n, constant);
        passes &= Test<Float16>(n, constant);
      }
    }
  }
  return !passes;
}
