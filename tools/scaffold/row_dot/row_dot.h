// The formula of row_dot, (n),(n)->(): for each result,
// the function that computes one of its elements.
#ifndef ROW_DOT_H_
#define ROW_DOT_H_

#include <cstdint>

#include "xla_ffi_ops/kit/float16.h"

namespace row_dot_ffi {

// The sizes of the core dimensions.
struct Dims {
  int64_t n;
};

// y = sum over n of x0[n] * x1[n]
template <typename T>
xla_ffi_ops::Accumulator<T> Y(const Dims& dims, const T* x0, const T* x1) {
  using Acc = xla_ffi_ops::Accumulator<T>;
  Acc sum = 0;
  for (int64_t n = 0; n < dims.n; ++n) {
    sum += Acc{x0[n]} * Acc{x1[n]};
  }
  return sum;
}

}  // namespace row_dot_ffi

#endif  // ROW_DOT_H_
