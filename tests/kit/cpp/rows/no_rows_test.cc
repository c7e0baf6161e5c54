// SPDX-License-Identifier: Apache-2.0
// A kernel reads nothing where there are no rows, and its sums are zeros.
#include <cstdint>
#include <vector>

#include "xla_ffi_ops/rows/cpu/cpu_kernels.h"
#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops {
namespace {

// x * w, and the sum of x over rows.
template <typename Acc>
struct ScaleFormula {
  static constexpr int kInputs = 1, kOutputs = 1, kSums = 1, kPasses = 0;
  using Weights = WeightDefaults<1>;
  struct Row {};

  Row Load(int64_t) const { return {}; }
  void Save(int64_t, const Row&) const {}
  Values<Acc, 1> Store(const Row&, Acc x, Acc w) const { return {{x * w}}; }
  Sums<Acc, 1> Column(const Row&, Acc x, Acc) const { return {{x}}; }
};

// Returns whether all is well.
template <typename T>
bool Test(const RowRange& range) {
  using F = ScaleFormula<Accumulator<T>>;
  // There is no such memory. All rows share the only row of each.
  auto* const nowhere = reinterpret_cast<T*>(64);
  const Rows<const T> rows{nowhere, range.cols, {}};
  std::vector<Accumulator<T>> sums(range.groups * range.cols, 1);
  RunFormula(Cpu(), F(), range, RowArrays<F, T, T>{{rows}, {rows}, {nowhere}},
             {sums.data()});
  for (const auto sum : sums) {
    if (sum != 0) return false;
  }
  return true;
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;
  for (const RowRange& range :
       {RowRange{0, 2, 0, 9}, RowRange{0, 0, 3, 9}, RowRange{0, 1, 0, 5000}}) {
    if (!Test<Float16>(range) || !Test<BFloat16>(range) || !Test<float>(range))
      return 1;
  }
  return 0;
}
