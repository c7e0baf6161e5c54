// SPDX-License-Identifier: Apache-2.0
// Triangular systems on the CPU, and their gradients.
#ifndef XLA_FFI_OPS_OPS_TRIANGULAR_SOLVE_TRIANGULAR_SOLVE_H_
#define XLA_FFI_OPS_OPS_TRIANGULAR_SOLVE_TRIANGULAR_SOLVE_H_

#include <cstdint>

#include "xla_ffi_ops/linalg/triangular.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// Systems op(A) x = b of n equations, each with k right-hand sides: b and x are
// [n, k].
template <typename T>
struct TriangularSystems {
  int64_t n, k;
  linalg::Triangle of;
  Rows<const T> a, b;
  Rows<T> x;

  int64_t Multiplications() const { return n * n * (k + 1); }
};

// The cotangents of a and b, for those of x.
template <typename T>
struct TriangularGradients {
  int64_t n, k;
  linalg::Triangle of;
  Rows<const T> a, x, dx;
  Rows<T> da, db;

  int64_t Multiplications() const { return 2 * n * n * (k + 1); }
};

// Computes the systems [begin, end).
template <typename T>
void Compute(const TriangularSystems<T>& call, int64_t begin, int64_t end);
template <typename T>
void Compute(const TriangularGradients<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_TRIANGULAR_SOLVE_TRIANGULAR_SOLVE_H_
