// SPDX-License-Identifier: Apache-2.0
// Exponentials of matrices on the CPU, and their gradients.
#ifndef XLA_FFI_OPS_OPS_EXPM_EXPM_H_
#define XLA_FFI_OPS_OPS_EXPM_EXPM_H_

#include <cstdint>

#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// y = exp(a), for matrices of n rows: see linalg/expm_lanes.h.
template <typename T>
struct Exponentials {
  int64_t n, max_squarings;
  Rows<const T> a;
  Rows<T> y;

  // About ten products of matrices.
  int64_t Multiplications() const { return 10 * n * n * n; }
};

// The cotangents of a, for those of y.
template <typename T>
struct ExponentialGradients {
  int64_t n, max_squarings;
  Rows<const T> a, dy;
  Rows<T> da;

  // Each product becomes three.
  int64_t Multiplications() const { return 30 * n * n * n; }
};

// Computes the matrices [begin, end).
template <typename T>
void Compute(const Exponentials<T>& call, int64_t begin, int64_t end);
template <typename T>
void Compute(const ExponentialGradients<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_EXPM_EXPM_H_
