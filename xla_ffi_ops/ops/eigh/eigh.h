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
};

// The columns of v are eigenvectors.
template <typename T>
struct Eigenvectors {
  Eigenvalues<T> values;
  Rows<T> v;
};

// The cotangents of a, for those of w and v.
template <typename T>
struct EighGradients {
  int64_t n;
  bool symmetrize;
  Rows<const T> w, v, dw, dv;
  Rows<T> da;
};

// Computes the matrices [begin, end).
template <typename T>
void RunEigh(const Eigenvalues<T>& call, int64_t begin, int64_t end);
template <typename T>
void RunEigh(const Eigenvectors<T>& call, int64_t begin, int64_t end);
template <typename T>
void RunEigh(const EighGradients<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_EIGH_EIGH_H_
