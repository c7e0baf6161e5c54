// SPDX-License-Identifier: Apache-2.0
// Terms of a long sum, and how far a computed sum may be from theirs: 2 units
// in the last place of the sum of the absolute terms if they are random, and 8
// if they are equal.
#ifndef XLA_FFI_OPS_TESTS_KIT_CPP_TERMS_H_
#define XLA_FFI_OPS_TESTS_KIT_CPP_TERMS_H_

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops {

template <typename T>
struct Terms {
  using Acc = Accumulator<T>;

  // Random if `constant` is 0.
  Terms(int64_t n, double constant) : values(n), eps(constant == 0 ? 2 : 8) {
    std::mt19937_64 generator(n);
    for (T& value : values)
      value = constant != 0 ? constant : generator() * 0x1p-63 - 0.9;
    sum = Sum(0, n, [](Acc x) { return x; });
    magnitude = Sum(0, n, [](Acc x) { return std::abs(x); });
  }

  // Returns whether this is the sum, and says so if it is not.
  bool Compare(const char* what, Acc got) const {
    const double unit = std::numeric_limits<Acc>::epsilon();
    const double error = std::abs(got - sum) / magnitude / unit;
    if (error <= eps) return true;
    std::fprintf(stderr, "%s of %zu terms of %zu bytes, like %g: off by %g\n",
                 what, values.size(), sizeof(T), double{values[0]}, error);
    return false;
  }

  std::vector<T> values;

 private:
  // By halves: the error is that of a few additions of long doubles.
  template <typename F>
  long double Sum(int64_t begin, int64_t end, F term) const {
    if (end - begin == 1) return term(static_cast<Acc>(values[begin]));
    const int64_t middle = begin + (end - begin) / 2;
    return Sum(begin, middle, term) + Sum(middle, end, term);
  }

  double eps;
  long double sum, magnitude;
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_TESTS_KIT_CPP_TERMS_H_
