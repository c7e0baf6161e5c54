// The formula of row_dot, (n),(n)->().
#ifndef ROW_DOT_H_
#define ROW_DOT_H_

#include <cstdint>

#include "xla_ffi_ops/vec/float16.h"

namespace row_dot_ffi {

// Computes one core of each result. A dimension m has n_m elements.
template <typename T>
void Compute(int64_t n_n, const T* x0, const T* x1, T* y) {
  using Acc = xla_ffi_ops::Accumulator<T>;
  // y = sum over n of x0[n] * x1[n]
  Acc y_sum = 0;
  for (int64_t i_n = 0; i_n < n_n; ++i_n) {
    y_sum += Acc{x0[i_n]} * Acc{x1[i_n]};
  }
  y[0] = y_sum;
}

}  // namespace row_dot_ffi

#endif  // ROW_DOT_H_
