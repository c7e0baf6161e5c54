// SPDX-License-Identifier: Apache-2.0
// The error of a sum over a long row does not grow with its length.
// clang-format off: the first file takes the place of one that the second uses.
#include "tests/cuda/emulator/cluster.cuh"
#include "xla_ffi_ops/cuda/launch_rows.cuh"
// clang-format on

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tests/kit/cpp/terms.h"
#include "xla_ffi_ops/kit/formula.h"

namespace xla_ffi_ops {
namespace {

template <typename Acc>
struct SumFormula {
  static constexpr int kPasses = 1;
  struct Row {
    Acc sum;
  };

  Acc* sum;

  HD Row Load(int64_t) const { return {}; }
  HD Sums<Acc, 1> Add(Pass<0>, const Row&, Acc x) const { return {{x}}; }
  HD void Finish(Pass<0>, Row& row, Sums<Acc, 1> total, Acc) const {
    row.sum = total.value[0];
  }
  HD void Save(int64_t, const Row& row) const { *sum = row.sum; }
  HD Values<Acc, 1> Store(const Row&, Acc x) const { return {{x}}; }
};

// Returns whether all is well.
template <typename T>
bool Test(int64_t n, double constant) {
  const Terms<T> terms(n, constant);
  std::vector<T> y(n);
  T sum = 0;
  LaunchRows(Cuda{nullptr}, SumFormula<T>{&sum}, {0, 1, 1, n},
             Operands{Rows<const T>{terms.values.data(), n, {}}}, kNoWeights<T>,
             Operands{y.data()}, kNoSums<T, T>);
  return terms.Compare("a row", sum);
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  bool passes = true;
  for (const char* device : {"0", "1"}) {  // with clusters, and without
    setenv("EMULATED_DEVICE", device, true);
    for (const int64_t n : {1 << 10, 1 << 14, (1 << 18) - 3, 1 << 21}) {
      for (const double constant : {0.0, 0.1, 1.0 / 3}) {
        passes &= xla_ffi_ops::Test<float>(n, constant);
        passes &= xla_ffi_ops::Test<double>(n, constant);
      }
    }
  }
  return !passes;
}
