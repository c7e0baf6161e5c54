// SPDX-License-Identifier: Apache-2.0
// Calls that are larger than caches store their results otherwise, with the
// same bits: aligned or not, in place, and if one result is not wanted.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>

#include "tests/kit/cpp/fake_xla.h"
#include "xla_ffi_ops/rows/cpu/cpu_kernels.h"
#include "xla_ffi_ops/rows/formula.h"
#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {
namespace {

// (x + y) * w and x / sum(y).
template <typename Acc>
struct TwoFormula {
  static constexpr int kInputs = 2, kOutputs = 2, kSums = 0, kPasses = 1;
  using Weights = WeightDefaults<1>;
  struct Row {
    Acc sum;
  };

  XLA_FFI_OPS_HD Row Load(int64_t) const { return {}; }
  XLA_FFI_OPS_HD Sums<Acc, 1> Add(Pass<0>, const Row&, Acc, Acc y, Acc) const {
    return {{y}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<0>, Row& row, Sums<Acc, 1> sums, Acc) const {
    row.sum = sums.value[0];
  }
  XLA_FFI_OPS_HD void Save(int64_t, const Row&) const {}
  XLA_FFI_OPS_HD Values<Acc, 2> Store(const Row& row, Acc x, Acc y,
                                      Acc w) const {
    return {{(x + y) * w, x / row.sum}};
  }
};

// x^2 / sum(x^2). StoreAdded gets x^2.
template <typename Acc>
struct AddedFormula {
  static constexpr int kInputs = 1, kOutputs = 1, kSums = 0, kPasses = 1;
  using Weights = WeightDefaults<>;
  using Row = typename TwoFormula<Acc>::Row;

  XLA_FFI_OPS_HD Row Load(int64_t) const { return {}; }
  XLA_FFI_OPS_HD Sums<Acc, 1> Add(Pass<0>, const Row&, Acc x) const {
    return {{x * x}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<0>, Row& row, Sums<Acc, 1> sums, Acc) const {
    row.sum = sums.value[0];
  }
  XLA_FFI_OPS_HD void Save(int64_t, const Row&) const {}
  XLA_FFI_OPS_HD Values<Acc, 1> Store(const Row& row, Acc x) const {
    return StoreAdded(row, x * x);
  }
  XLA_FFI_OPS_HD Values<Acc, 1> StoreAdded(const Row& row, Acc square) const {
    return {{square / row.sum}};
  }
};

// sum = x + y, and AddedFormula of it. (Only 16 bits have stages.)
template <typename Acc>
struct StagedFormula : AddedFormula<Acc> {
  static constexpr int kInputs = 2, kOutputs = 2;
  using Rest = AddedFormula<Acc>;
  struct First {
    static constexpr int kInputs = 2, kOutputs = 1, kSums = 0, kPasses = 0;
    using Weights = WeightDefaults<>;
    struct Row {};

    XLA_FFI_OPS_HD Row Load(int64_t) const { return {}; }
    XLA_FFI_OPS_HD void Save(int64_t, const Row&) const {}
    XLA_FFI_OPS_HD Values<Acc, 1> Store(const Row&, Acc x, Acc y) const {
      return {{x + y}};
    }
  };
};

// Arrays begin at a page, and one more element is behind them.
template <typename T>
struct Array {
  Array(int64_t size, int seed)
      : data(static_cast<T*>(std::aligned_alloc(
                 4096, (size * sizeof(T) / 4096 + 1) * 4096)),
             std::free) {
    for (int64_t i = 0; i <= size; ++i) {
      data.get()[i] = T(static_cast<float>((i * 7 + seed) % 13 + 1));
    }
  }
  std::unique_ptr<T, void (*)(void*)> data;
};

// Whether results have the same bits as those of a call that is not so large.
// `offset` and `second` are of the two results.
template <typename F, typename T>
void Test(int64_t cols, int64_t offset, int64_t second, bool in_place,
          bool all) {
  constexpr int64_t kRows = 5;
  const int64_t size = kRows * cols + std::max(offset, second);
  const Array<T> w(cols, 1), x(size, 4);
  Array<T> y[2] = {{size, 2}, {size, 2}}, z[2] = {{size, 3}, {size, 3}};
  RowMap each;
  each.stride[0] = 1;
  for (const bool uncached : {false, true}) {
    T* const out = y[uncached].data.get() + offset;
    RowArrays<F, T, T> arrays = {};
    for (int i = 0; i < F::kInputs; ++i) {
      arrays.inputs[i] = {i == 0 && in_place ? out : x.data.get(), cols, each};
    }
    if constexpr (F::Weights::kSize > 0) {
      arrays.weights[0] = {w.data.get(), cols, {}};
    }
    arrays.outputs[0] = out;
    if constexpr (F::kOutputs > 1) {
      arrays.outputs[1] = all ? z[uncached].data.get() + second : nullptr;
    }
    RunFormula(Cpu(), F(), {0, 1, kRows, cols, nullptr, uncached}, arrays, {});
  }
  for (const auto* array : {&y, &z}) {
    CHECK(std::memcmp((*array)[0].data.get(), (*array)[1].data.get(),
                      (size + 1) * sizeof(T)) == 0);
  }
}

template <typename F, typename T>
void Test() {
  for (const int64_t cols : {1, 8, 40, 513, 1000, 4096, 5000, 70'000}) {
    for (const int64_t offset : {0, 1, 8}) {
      for (const bool in_place : {false, true}) {
        for (const int64_t second : {0, 1, 8}) {
          Test<F, T>(cols, offset, second, in_place, /*all=*/true);
          if (F::kOutputs > 1 && !kHasFirst<F>) {
            Test<F, T>(cols, offset, second, in_place, /*all=*/false);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;  // NOLINT
  PrefersNonTemporal() = true;  // Not only on the processors that do.
  // Not all pairs, which take long to compile: each type, and each formula with
  // types that are widened and that are not.
  Test<TwoFormula<float>, float>();
  Test<TwoFormula<double>, double>();
  Test<TwoFormula<float>, Float16>();
  Test<AddedFormula<double>, double>();
  Test<AddedFormula<float>, BFloat16>();
  Test<StagedFormula<float>, BFloat16>();
}
