// SPDX-License-Identifier: Apache-2.0
// The error of a sum over a long row, or over many rows, does not grow with
// their length or number.
// clang-format off: the first file takes the place of one that the second uses.
#include "tests/cuda/emulator/cluster.cuh"
#include "xla_ffi_ops/rows/cuda/launch_rows.cuh"
// clang-format on

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tests/kit/cpp/rows/terms.h"
#include "xla_ffi_ops/rows/formula.h"

namespace xla_ffi_ops {
namespace {

// The sums of x over a row and over rows.
template <typename Acc, int m>
struct SumFormula {
  static constexpr int kInputs = 1, kOutputs = 1, kSums = m, kPasses = 1;
  using Weights = WeightDefaults<>;
  struct Row {
    Acc sum;
  };

  Acc* sum;

  XLA_FFI_OPS_HD Row Load(int64_t) const { return {}; }
  XLA_FFI_OPS_HD Sums<Acc, 1> Add(Pass<0>, const Row&, Acc x) const {
    return {{x}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<0>, Row& row, Sums<Acc, 1> total, Acc) const {
    row.sum = total.value[0];
  }
  XLA_FFI_OPS_HD void Save(int64_t, const Row& row) const { *sum = row.sum; }
  XLA_FFI_OPS_HD Values<Acc, 1> Store(const Row&, Acc x) const { return {{x}}; }
  XLA_FFI_OPS_HD Sums<Acc, 1> Column(const Row&, Acc x) const { return {{x}}; }
};

// Returns whether all is well.
template <typename T>
bool TestRow(int64_t n, double constant) {
  const Terms<T> terms(n, constant);
  std::vector<T> y(n);
  T sum = 0;
  LaunchRows(Cuda{nullptr}, SumFormula<T, 0>{&sum}, {0, 1, 1, n},
             Operands{Rows<const T>{terms.values.data(), n, {}}}, kNoWeights<T>,
             Operands{y.data()}, kNoSums<T, T>);
  return terms.Compare("a row", sum);
}

// Likewise, of n rows whose columns are the same.
template <typename T>
bool TestRows(int64_t n, int64_t cols, double constant) {
  const Terms<T> terms(n, constant);
  std::vector<T> x, y(n * cols), sums(cols);
  for (const T term : terms.values) x.insert(x.end(), cols, term);
  const int64_t parts = 1 + n / 56;  // kit/calls/workspaces.py
  std::vector<T> memory(parts * cols, NAN);
  RowMap map;
  map.stride[0] = 1;
  T sum = 0;
  LaunchRows(Cuda{nullptr}, SumFormula<T, 1>{&sum}, {0, 1, n, cols},
             Operands{Rows<const T>{x.data(), cols, map}}, kNoWeights<T>,
             Operands{y.data()},
             Operands{Workspace<T, T>{sums.data(), memory.data(), parts}});
  return terms.Compare("rows", sums[0]) && terms.Compare("rows", sums.back());
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;  // NOLINT
  bool passes = true;
  const double constants[] = {0.0, 0.1, 1.0 / 3};
  for (const char* device : {"0", "1"}) {  // with clusters, and without
    setenv("EMULATED_DEVICE", device, true);
    for (const double constant : constants) {
      for (const int64_t n : {1 << 10, 1 << 14, (1 << 18) - 3, 1 << 21}) {
        passes &= TestRow<float>(n, constant) & TestRow<double>(n, constant);
      }
    }
  }
  // Rows of a part of a warp, of a block, and of the memory.
  for (const double constant : constants) {
    passes &= TestRows<double>(1 << 14, 4, constant);
    passes &= TestRows<float>((1 << 12) + 5, 2048, constant);
    passes &= TestRows<float>(200, 33000, constant);
  }
  return !passes;
}
