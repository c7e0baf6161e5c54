// SPDX-License-Identifier: Apache-2.0
// The test of an op's CUDA kernels: they compute what their formulas say, on
// emulated devices, with as many launches for aligned arrays as for others.
// What this cannot show, a GPU has to: PTX, and the device's memory model.
//
//   struct KernelsTest {
//     template <typename T, typename W>  // of the rows, of the weights
//     static void Run(const Case& c);    // runs and compares the kernels
//   };
//
//   int main() { return TestWeightedKernels<KernelsTest>(); }
#ifndef XLA_FFI_OPS_TESTS_CUDA_EMULATOR_ROW_KERNELS_H_
#define XLA_FFI_OPS_TESTS_CUDA_EMULATOR_ROW_KERNELS_H_

#include <cstdint>
#include <cstdlib>
#include <string>
#include <typeinfo>

#include "tests/cuda/emulator/include/cuda_runtime.h"
#include "tests/cuda/emulator/row_arrays.h"
#include "tests/cuda/emulator/run_exactly.h"
#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/types.h"

namespace xla_ffi_ops {

inline constexpr Cuda kDevice = {nullptr};
inline constexpr double kEps = 0.25;  // A norm's rstd is at most 2.

inline RowRange AllRows(const Case& c) { return {0, 1, c.AllRows(), c.cols}; }
inline RowRange Groups(const Case& c) { return {0, c.groups, c.rows, c.cols}; }

namespace internal {

// Aligned, once more, and not: it makes as many launches, and for the same
// alignment the same bits, whatever the order of the threads is.
template <typename... Types>
void Test(Case c, void (*test)(const Case&)) {
  uint64_t first_bits = 0;
  int first_launches = 0;
  for (const int run : {0, 1, 2}) {
    if (run == 1 && c.cols > 1000 && c.cols != 65544) continue;
    c.aligned = run < 2;
    context = ((typeid(Types).name() + std::string(" ")) + ...) + c.Name();
    generator.seed(c.cols);
    bits = 0;
    const int before = emulator::launches;
    test(c);
    const int launches = emulator::launches - before;
    if (run == 0) first_bits = bits, first_launches = launches;
    Check(launches == first_launches, "another number of launches");
    Check(run != 1 || bits == first_bits, "other bits in another order");
  }
}

// Returns main()'s status. `all` tests a case with all types, `some` with two.
inline int TestCases(void (*all)(const Case&), void (*some)(const Case&)) {
  setenv("EMULATED_DEVICE", "0", true);
  for (const int64_t cols : {0, 1, 3, 8, 33, 64, 256, 1000}) all({2, 5, cols});
  for (const unsigned present : {0, 1, 2}) all({1, 9, 64, 3, present});
  for (const int64_t cols : {2048, 4096, 8200, 12289}) some({1, 3, cols});
  for (const int64_t cols : {4, 33, 1024, 16385}) {
    Case c{1, 4, cols};
    c.finite = false;
    some(c);
    c.finite = true;
    c.shared = true;
    some(c);
  }
  for (const char* device : {"0", "1", "2"}) {
    setenv("EMULATED_DEVICE", device, true);
    for (const int64_t cols : {16385, 65544, 300008}) some({1, 2, cols});
    for (const int64_t parts : {1, 2, 5, 300}) {
      for (const int64_t rows : {1, 7, 200}) some({1, rows, 33, parts});
      some({3, 11, 520, parts});
    }
    some({3, 0, 8});
    some({0, 3, 8});
    some({100, 1, 40});
  }
  setenv("EMULATED_DEVICE", "1", true);
  for (const char* state : {"EMULATED_OLD_DRIVER", "EMULATED_RECORDING"}) {
    setenv(state, "1", true);
    some({1, 3, 70000});
    unsetenv(state);
  }
  return failures > 0;
}

}  // namespace internal

// For ops with weights.
template <typename KernelsTest>
int TestWeightedKernels() {
  return internal::TestCases(
      [](const Case& c) {
        ForEachType(FloatTypes(), [&](auto t) {
          using T = TypeOf<decltype(t)>;
          ForEachType(WeightTypes<T>(), [&](auto w) {
            using W = TypeOf<decltype(w)>;
            internal::Test<T, W>(c, KernelsTest::template Run<T, W>);
          });
        });
      },
      [](const Case& c) {
        internal::Test<float, float>(c,
                                     KernelsTest::template Run<float, float>);
        internal::Test<BFloat16, BFloat16>(
            c, KernelsTest::template Run<BFloat16, BFloat16>);
      });
}

// For ops without: Run has no W.
template <typename KernelsTest>
int TestKernels() {
  return internal::TestCases(
      [](const Case& c) {
        ForEachType(FloatTypes(), [&](auto t) {
          using T = TypeOf<decltype(t)>;
          internal::Test<T>(c, KernelsTest::template Run<T>);
        });
      },
      [](const Case& c) {
        internal::Test<float>(c, KernelsTest::template Run<float>);
        internal::Test<BFloat16>(c, KernelsTest::template Run<BFloat16>);
      });
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_TESTS_CUDA_EMULATOR_ROW_KERNELS_H_
