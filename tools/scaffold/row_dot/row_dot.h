// The formulas of row_dot, (n),(n)->().
#ifndef ROW_DOT_H_
#define ROW_DOT_H_

#include <cstdint>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/types.h"

namespace row_dot_ffi {

// The types that the handlers take: those of `dtypes` in row_dot.py.
using RowTypes = xla_ffi_ops::FloatTypes;

// Computes one core of the result: y = sum over n of x0[n] * x1[n]. With omp
// simd, vectors add up in any order.
template <typename T>
XLA_FFI_OPS_HD void Compute(int64_t n, const T* x0, const T* x1, T* y) {
  using Acc = xla_ffi_ops::Accumulator<T>;
  Acc sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += Acc{x0[i]} * Acc{x1[i]};
  *y = sum;
}

// --backward {
// Computes one core of the cotangents: dx0[n] = dy * x1[n], and likewise dx1.
template <typename T>
XLA_FFI_OPS_HD void ComputeBackward(int64_t n, const T* x0, const T* x1,
                                    const T* dy, T* dx0, T* dx1) {
  using Acc = xla_ffi_ops::Accumulator<T>;
  const Acc slope{*dy};
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    dx0[i] = slope * Acc{x1[i]};
    dx1[i] = slope * Acc{x0[i]};
  }
}

// --backward }
}  // namespace row_dot_ffi

#endif  // ROW_DOT_H_
