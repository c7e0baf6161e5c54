// SPDX-License-Identifier: Apache-2.0
// Rows that threads share have the same bits as those of one thread.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/kit/cpp/fake_xla.h"
#include "tests/kit/cpp/pools.h"
#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/rows/cpu/cpu_kernels.h"
#include "xla_ffi_ops/rows/formula.h"

namespace xla_ffi_ops {
namespace {

// All that a formula may have: a pass for a Max, and one for two sums that
// needs the first; residuals that it loads and saves; two outputs; two sums
// over rows.
template <typename Acc>
struct AnyFormula {
  static constexpr int kInputs = 2, kOutputs = 2, kSums = 2, kPasses = 2;
  using Weights = WeightDefaults<1, 0>;
  struct Row {
    Acc shift, most, sum, square;
  };

  const Acc* shifts;
  Acc* saved;

  XLA_FFI_OPS_HD Row Load(int64_t i) const { return {shifts[i], 0, 0, 0}; }
  XLA_FFI_OPS_HD Max<Acc> Add(Pass<0>, const Row& row, Acc x, Acc y, Acc w,
                              Acc) const {
    return {{(x + row.shift) * w - y}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<0>, Row& row, Max<Acc> max, Acc) const {
    row.most = max.value[0];
  }
  XLA_FFI_OPS_HD Sums<Acc, 2> Add(Pass<1>, const Row& row, Acc x, Acc y, Acc w,
                                  Acc b) const {
    return {{x / row.most + b, y * y * w}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<1>, Row& row, Sums<Acc, 2> sums,
                             Acc cols) const {
    row.sum = sums.value[0] / cols;
    row.square = sums.value[1] / cols;
  }
  XLA_FFI_OPS_HD void Save(int64_t i, const Row& row) const {
    saved[i] += row.sum + row.most;  // += tells if it is saved twice.
  }
  XLA_FFI_OPS_HD Values<Acc, 2> Store(const Row& row, Acc x, Acc y, Acc w,
                                      Acc b) const {
    return {{(x - row.sum) * w + b, y / row.square}};
  }
  XLA_FFI_OPS_HD Sums<Acc, 2> Column(const Row& row, Acc x, Acc y, Acc,
                                     Acc) const {
    return {{(x - row.sum) * y, y}};
  }
};

// A formula without passes.
template <typename Acc>
struct NoPasses : AnyFormula<Acc> {
  static constexpr int kPasses = 0;
};

template <typename T>
std::vector<T> Numbers(int64_t n, int seed) {
  std::vector<T> numbers(n);
  for (int64_t i = 0; i < n; ++i) {
    numbers[i] = T(static_cast<float>(std::sin(0.37 * i + seed)) + 0.1f);
  }
  return numbers;
}

template <typename T>
bool Same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// The results of a call. `given` has a bit for each weight and its sums.
template <template <typename> class Formula, typename T>
struct Results {
  using Acc = Accumulator<T>;
  using F = Formula<Acc>;

  // With `threads` that share rows; with 0, one thread runs them as short ones.
  Results(int64_t groups, int64_t rows, int64_t cols, int given, int threads)
      : y(groups * rows * cols + 1), z(y), saved(groups * rows) {
    const int64_t all = groups * rows;
    const auto x = Numbers<T>(all * cols, 1), x2 = Numbers<T>(all * cols, 2);
    const auto w = Numbers<T>(cols, 3), b = Numbers<T>(cols, 4);
    const auto shifts = Numbers<Acc>(all, 5);
    RowMap each;
    each.stride[0] = 1;
    const internal::Wanted<2> sums_of{{(given & 1) != 0, (given & 2) != 0}};
    const int64_t count = (given & 1) + (given >> 1);
    sums.resize(count * groups * cols + 1);
    const RowArrays<F, T, T> arrays{
        {Rows<const T>{x.data(), cols, each}, {x2.data(), cols, each}},
        {Rows<const T>{(given & 1) != 0 ? w.data() : nullptr, cols, {}},
         {(given & 2) != 0 ? b.data() : nullptr, cols, {}}},
        {y.data(), z.data()}};
    const F f{shifts.data(), saved.data()};
    for (int64_t group = 0; group < groups && threads == 0; ++group) {
      RunFormula(Cpu(), f, {group * rows, 1, rows, cols}, arrays,
                 sums_of.Each(sums.data() + group * count * cols, cols));
    }
    if (threads == 0) return;
    FakeXla xla(threads);
    Threads pool(xla);
    const CpuContext device{xla.pool()};
    CHECK(internal::AreLongRows(device, all, cols) == (all < 2 * threads));
    HandlerResult result = internal::ComputeLongRows(
        device, f, {0, groups, rows, cols}, arrays, sums_of,
        [&](const Acc* from, int64_t group, int64_t begin, int64_t end) {
          for (int64_t i = 0; i < count; ++i, from += end - begin) {
            std::copy_n(from, end - begin,
                        sums.data() + (group * count + i) * cols + begin);
          }
        });
    pool.Join();
    CHECK(Result(result).success());
  }

  bool operator==(const Results& other) const {
    return Same(y, other.y) && Same(z, other.z) && Same(saved, other.saved) &&
           Same(sums, other.sums);
  }

  std::vector<T> y, z;
  std::vector<Acc> saved, sums;
};

template <template <typename> class Formula, typename T>
void Test() {
  for (const int64_t cols : {internal::kCachedCols + 1, int64_t{17 * 4096}}) {
    for (const int given : {0, 1, 2, 3}) {
      const int64_t rows = given == 2 ? 3 : 1, groups = given == 1 ? 2 : 1;
      const Results<Formula, T> one(groups, rows, cols, given, 0);
      CHECK(!std::isnan(one.saved[0]));
      CHECK((one.saved[0] != 0) == (Formula<Accumulator<T>>::kPasses > 0));
      for (const int threads : {1, 2, 8}) {
        CHECK((one == Results<Formula, T>(groups, rows, cols, given, threads)));
      }
    }
  }
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;  // NOLINT
  // Not all pairs, which take long to compile: each type, and each formula with
  // types that are widened and that are not.
  Test<AnyFormula, double>();
  Test<AnyFormula, BFloat16>();
  Test<NoPasses, float>();
  Test<NoPasses, Float16>();
}
