// SPDX-License-Identifier: Apache-2.0
// Cholesky factors on the CPU, A = L L^H, and their gradients.
#ifndef XLA_FFI_OPS_OPS_CHOLESKY_CHOLESKY_H_
#define XLA_FFI_OPS_OPS_CHOLESKY_CHOLESKY_H_

#include <cstdint>

#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// Matrices of n rows. With `symmetrize`, A is (a + a^H) / 2; if not, it is the
// lower triangle of a. L is NaN if A is not positive definite.
template <typename T>
struct CholeskyFactors {
  int64_t n;
  bool symmetrize;
  Rows<const T> a;
  Rows<T> l;

  int64_t Multiplications() const { return n * n * n; }
};

// The cotangents of a, for those of L.
template <typename T>
struct CholeskyGradients {
  int64_t n;
  bool symmetrize;
  Rows<const T> l, dl;
  Rows<T> da;

  int64_t Multiplications() const { return 4 * n * n * n; }
};

// Computes the matrices [begin, end).
template <typename T>
void Compute(const CholeskyFactors<T>& call, int64_t begin, int64_t end);
template <typename T>
void Compute(const CholeskyGradients<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_CHOLESKY_CHOLESKY_H_
