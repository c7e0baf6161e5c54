// SPDX-License-Identifier: Apache-2.0
// Householder's factors on the CPU, A = Q R, and their gradients.
#ifndef XLA_FFI_OPS_OPS_QR_QR_H_
#define XLA_FFI_OPS_OPS_QR_QR_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// a is [m, n], q [m, k], and r [k, n]: k is m, or n if that is less.
template <typename T>
struct QrFactors {
  int64_t m, n, k;
  Rows<const T> a;
  Rows<T> q, r;

  int64_t Multiplications() const { return 2 * m * n * k; }
};

// The cotangents of a, for those of Q and R, where k is the lesser of m and n.
template <typename T>
struct QrGradients {
  int64_t m, n;
  Rows<const T> q, r, dq, dr;
  Rows<T> da;

  int64_t Multiplications() const { return 3 * m * n * std::min(m, n); }
};

// Computes the matrices [begin, end).
template <typename T>
void Compute(const QrFactors<T>& call, int64_t begin, int64_t end);
template <typename T>
void Compute(const QrGradients<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_QR_QR_H_
