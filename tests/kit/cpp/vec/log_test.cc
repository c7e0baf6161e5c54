// SPDX-License-Identifier: Apache-2.0
// LogOnePlus against the logarithm of long double: over all powers of 2 that
// scans reach, and where the exponent of 1 + x changes.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "tests/kit/cpp/fake_xla.h"
#include "xla_ffi_ops/vec/math/exp_sums.h"

namespace xla_ffi_ops {
namespace {

// The error of LogOnePlus(x) in units in the last place of the exact value.
template <typename T>
long double Error(T x) {
  const long double exact = std::log1p(static_cast<long double>(x));
  const int exponent = std::ilogb(exact) + 1 - std::numeric_limits<T>::digits;
  return std::fabs(LogOnePlus(x) - exact) / std::ldexp(1.0L, exponent);
}

template <typename T>
void TestErrors() {
  constexpr int kSteps = 5000;
  long double worst = 0;
  for (int power = -60; power <= 60; ++power) {
    for (int i = 0; i < kSteps; ++i) {
      const T x = std::ldexp(1 + T(i) / kSteps, power);
      // Just above and below powers of 2, and of 2 times sqrt(1/2), less 1.
      const T edge = std::ldexp(std::sqrt(T(0.5)) * T(1 + i * 1e-6), power) - 1;
      worst = std::fmax(worst, Error(x));
      if (power > 0 && edge > 0) worst = std::fmax(worst, Error(edge));
    }
  }
  std::printf("%Lf units in the last place\n", worst);
  CHECK(worst > 0.5L && worst < 2);
}

template <typename T>
void TestSpecialValues() {
  CHECK(LogOnePlus(T(0)) == 0);
  CHECK(std::isnan(LogOnePlus(std::numeric_limits<T>::quiet_NaN())));
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  xla_ffi_ops::TestErrors<float>();
  xla_ffi_ops::TestErrors<double>();
  xla_ffi_ops::TestSpecialValues<float>();
  xla_ffi_ops::TestSpecialValues<double>();
}
