// SPDX-License-Identifier: Apache-2.0
// The functions of vec/math as loops over arrays: as kernels are compiled,
// which tests are not.
#ifndef XLA_FFI_OPS_TESTS_KIT_CPP_MATH_FUNCTIONS_H_
#define XLA_FFI_OPS_TESTS_KIT_CPP_MATH_FUNCTIONS_H_

#include <cstdint>
#include <vector>

namespace xla_ffi_ops {

// y[i] = f(x[i], w[i]) for i < n, a multiple of 16; most functions ignore w.
template <typename T>
using Loop = void (*)(const T* x, const T* w, T* y, int64_t n);

template <typename T>
struct Loops {
  Loop<T> vector;  // by vectors of the CPU's size
  // By other vectors, and by scalars. MATH_FORMS has them compiled.
  std::vector<Loop<T>> others;
};

struct MathFunction {
  const char* name;
  Loops<float> of_float;
  Loops<double> of_double;
};

const std::vector<MathFunction>& MathFunctions();

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_TESTS_KIT_CPP_MATH_FUNCTIONS_H_
