// SPDX-License-Identifier: Apache-2.0
// ExpUpToZero against the exponential function of long double.
#include <cmath>
#include <cstdio>
#include <limits>

#include "tests/kit/cpp/fake_xla.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/math/exp_sums.h"

namespace xla_ffi_ops {
namespace {

// Tests exp(x) for results of T, whose relative error is at most `bound`.
template <typename T>
void Test(long double bound) {
  using Acc = Accumulator<T>;
  const auto exp = [](Acc x) { return ExpUpToZeroFor<T>(x); };
  // The least x whose exponential is normal.
  const Acc least = std::log(std::numeric_limits<Acc>::min());
  long double worst = 0;
  for (Acc x = 0; x > least * Acc(0.99999); x = x * Acc(1.00001) - Acc(1e-5)) {
    const long double exact = std::exp(static_cast<long double>(x));
    worst = std::fmax(worst, std::fabs(exp(x) / exact - 1));
  }
  std::printf("2^%.2Lf\n", std::log2(worst));
  CHECK(worst > 0 && worst <= bound);
  using Limits = std::numeric_limits<Acc>;
  CHECK(exp(0) == 1);
  CHECK(exp(least * Acc(1.01)) == 0);
  CHECK(exp(Limits::lowest()) == 0);
  CHECK(exp(-Limits::infinity()) == 0);
  CHECK(std::isnan(exp(Limits::quiet_NaN())));
}

}  // namespace
}  // namespace xla_ffi_ops

int main() {
  using namespace xla_ffi_ops;  // NOLINT
  // 1.3 units in the last place, and for 16 bits what ExpUpToZeroFor says.
  Test<float>(1.3L * 0x1p-23L);
  Test<double>(1.3L * 0x1p-52L);
  Test<Float16>(0x1p-17L);
  Test<BFloat16>(0x1p-17L);
}
