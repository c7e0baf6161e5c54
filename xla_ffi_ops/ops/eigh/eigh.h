// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and eigenvectors of symmetric matrices on the CPU, and their
// gradients.
#ifndef XLA_FFI_OPS_OPS_EIGH_EIGH_H_
#define XLA_FFI_OPS_OPS_EIGH_EIGH_H_

#include <cstdint>

#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// Matrices of n rows. With `symmetrize`, A is (a + a^T) / 2; if not, the lower
// triangle of A is that of a.
template <typename T>
struct Eigenvalues {
  int64_t n;
  bool symmetrize;
  Rows<const T> a;
  Rows<T> w;

  // LAPACK counts 9 n^3 with vectors. Values alone have half of that here: each
  // sweep has square roots, which take as long as many multiplications.
  int64_t Multiplications() const { return 9 * n * n * n / 2 + 10 * n * n; }
};

// The columns of v are eigenvectors.
template <typename T>
struct Eigenvectors {
  Eigenvalues<T> values;
  Rows<T> v;

  int64_t Multiplications() const { return 2 * values.Multiplications(); }
};

// The cotangents of a, for those of w and v.
template <typename T>
struct EighGradients {
  int64_t n;
  bool symmetrize;
  Rows<const T> w, v, dw, dv;
  Rows<T> da;

  int64_t Multiplications() const { return 4 * n * n * n; }
};

// Computes the matrices [begin, end).
template <typename T>
void Compute(const Eigenvalues<T>& call, int64_t begin, int64_t end);
template <typename T>
void Compute(const Eigenvectors<T>& call, int64_t begin, int64_t end);
template <typename T>
void Compute(const EighGradients<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_EIGH_EIGH_H_
