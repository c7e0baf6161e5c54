// SPDX-License-Identifier: Apache-2.0
// Singular values and vectors on the CPU, A = U diag(s) V^T, and their
// gradients.
#ifndef XLA_FFI_OPS_OPS_SVD_SVD_H_
#define XLA_FFI_OPS_OPS_SVD_SVD_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// a is [m, n]; s has as many values as the shorter side. Where there are no
// vectors, u and vt have no data; else as many of the longer side as s, or all.
template <typename T>
struct SvdFactors {
  int64_t m, n;
  bool all;
  Rows<const T> a;
  Rows<T> u, s, vt;

  // Six sweeps of rotations.
  int64_t Multiplications() const { return 20 * m * n * std::min(m, n); }
};

// The cotangents of a, for those of u, [m, k], s, and vt, [k, n].
template <typename T>
struct SvdGradients {
  int64_t m, n;
  Rows<const T> u, s, vt, du, ds, dvt;
  Rows<T> da;

  int64_t Multiplications() const { return 5 * m * n * std::min(m, n); }
};

// Computes the matrices [begin, end).
template <typename T>
void Compute(const SvdFactors<T>& call, int64_t begin, int64_t end);
template <typename T>
void Compute(const SvdGradients<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_SVD_SVD_H_
