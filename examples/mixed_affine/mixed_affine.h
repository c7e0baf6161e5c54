// SPDX-License-Identifier: Apache-2.0
// Kernels of y = x * rstd * weight with rstd = 1 / sqrt(mean(x * x) + eps), for
// rows of d elements. X and W are float or BFloat16; all sums are float.
#ifndef MIXED_AFFINE_H_
#define MIXED_AFFINE_H_

#include <cmath>
#include <cstdint>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"

namespace mixed_affine {

using xla_ffi_ops::Cpu;
using xla_ffi_ops::Cuda;

template <typename X, typename W>
struct ForwardArgs {
  int64_t d;
  float eps;
  const X* x;       // [rows, d]
  const W* weight;  // [d]
  W* y;             // [rows, d]
  float* rstd;      // [rows]
};

template <typename X, typename W>
struct BackwardArgs {
  int64_t rows, d, parts;
  const W* dy;        // [rows, d]
  const X* x;         // [rows, d]
  const W* weight;    // [d]
  const float* rstd;  // [rows]
  X* dx;              // [rows, d]
  W* dweight;         // [d]
  float* partial;     // [parts, d]
};

// The rows begin to end.
template <typename X, typename W>
void Forward(Cpu, int64_t begin, int64_t end, ForwardArgs<X, W> a) {
  for (int64_t row = begin; row < end; ++row) {
    const X* const x = a.x + row * a.d;
    float sum = 0;
    for (int64_t j = 0; j < a.d; ++j) sum += float{x[j]} * float{x[j]};
    const float rstd = 1 / std::sqrt(sum / a.d + a.eps);
    for (int64_t j = 0; j < a.d; ++j) {
      a.y[row * a.d + j] = float{x[j]} * rstd * float{a.weight[j]};
    }
    a.rstd[row] = rstd;
  }
}

// The first stage, for the parts begin to end: dx, and partial[p] as the sum
// over the rows p, p + parts, p + 2 * parts ...
template <typename X, typename W>
void Backward(Cpu, int64_t begin, int64_t end, BackwardArgs<X, W> a) {
  for (int64_t p = begin; p < end; ++p) {
    float* const partial = a.partial + p * a.d;
    for (int64_t j = 0; j < a.d; ++j) partial[j] = 0;
    for (int64_t row = p; row < a.rows; row += a.parts) {
      const X* const x = a.x + row * a.d;
      const W* const dy = a.dy + row * a.d;
      const float rstd = a.rstd[row];
      float sum = 0;
      for (int64_t j = 0; j < a.d; ++j) {
        sum += float{dy[j]} * float{a.weight[j]} * float{x[j]};
        partial[j] += float{dy[j]} * float{x[j]} * rstd;
      }
      const float scale = sum / a.d * rstd * rstd;
      for (int64_t j = 0; j < a.d; ++j) {
        a.dx[row * a.d + j] =
            rstd * (float{dy[j]} * float{a.weight[j]} - float{x[j]} * scale);
      }
    }
  }
}

// The second stage: dweight, the sum over the parts.
template <typename X, typename W>
void SumParts(Cpu, BackwardArgs<X, W> a) {
  for (int64_t j = 0; j < a.d; ++j) {
    float sum = 0;
    for (int64_t p = 0; p < a.parts; ++p) sum += a.partial[p * a.d + j];
    a.dweight[j] = sum;
  }
}

// These only enqueue the work; they throw if that fails.
template <typename X, typename W>
void Forward(Cuda device, int64_t begin, int64_t end, ForwardArgs<X, W> a);
template <typename X, typename W>
void Backward(Cuda device, int64_t begin, int64_t end, BackwardArgs<X, W> a);
template <typename X, typename W>
void SumParts(Cuda device, BackwardArgs<X, W> a);

}  // namespace mixed_affine

#endif  // MIXED_AFFINE_H_
