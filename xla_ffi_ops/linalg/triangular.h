// SPDX-License-Identifier: Apache-2.0
// Solutions of triangular systems, and their gradients.
#ifndef XLA_FFI_OPS_LINALG_TRIANGULAR_H_
#define XLA_FFI_OPS_LINALG_TRIANGULAR_H_

#include <cstdint>

#include "xla_ffi_ops/linalg/number.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::linalg {

// What a matrix in memory stands for: op(A), where A is its lower or its upper
// triangle, and op transposes, conjugates, or does both.
struct Triangle {
  // Whether op(A) is lower.
  bool IsLower() const { return lower != transpose; }
  // That of op(A)^T.
  Triangle Transposed() const {
    return {lower, !transpose, conjugate, unit_diagonal};
  }

  bool lower, transpose, conjugate, unit_diagonal;
};

namespace internal {

template <typename V>
XLA_FFI_OPS_HD V ElementOf(const Triangle& of, int64_t n, const V* a, int64_t i,
                           int64_t j) {
  const V x = of.transpose ? a[j * n + i] : a[i * n + j];
  return of.conjugate ? Conj(x) : x;
}

}  // namespace internal

// Solves op(A) x = b in place: x, [n, k], has b before.
template <typename N, typename K, typename V>
XLA_FFI_OPS_HD void SolveTriangular(N n, K k, const Triangle& of, const V* a,
                                    V* x) {
  const bool is_lower = of.IsLower();
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = is_lower ? step : n - 1 - step;
    const int64_t begin = is_lower ? 0 : i + 1, end = is_lower ? i : int64_t(n);
    const V scale = of.unit_diagonal
                        ? FromReal<V>(Fill<Real<V>>(1))
                        : Reciprocal(internal::ElementOf(of, n, a, i, i));
    for (int64_t c = 0; c < k; ++c) {
      V found = x[i * k + c];
      for (int64_t j = begin; j < end; ++j) {
        found =
            MulSub(internal::ElementOf(of, n, a, i, j), x[j * k + c], found);
      }
      x[i * k + c] = of.unit_diagonal ? found : Times(found, scale);
    }
  }
}

// The cotangents of A and b, for dx, that of x: db = op(A)^-T dx, in place of
// dx, and da, [n, n], which is 0 where A is not read.
template <typename N, typename K, typename V>
XLA_FFI_OPS_HD void TriangularGradient(N n, K k, const Triangle& of, const V* a,
                                       const V* x, V* dx, V* da) {
  SolveTriangular(n, k, of.Transposed(), a, dx);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const bool is_read =
          i == j ? !of.unit_diagonal : (of.lower ? i > j : i < j);
      V sum{};
      // op(A) has -db x^T.
      const V* const db_row = dx + (of.transpose ? j : i) * k;
      const V* const x_row = x + (of.transpose ? i : j) * k;
      for (int64_t c = 0; is_read && c < k; ++c) {
        sum = MulSub(db_row[c], x_row[c], sum);
      }
      da[i * n + j] = of.conjugate ? Conj(sum) : sum;
    }
  }
}

}  // namespace xla_ffi_ops::linalg

#endif  // XLA_FFI_OPS_LINALG_TRIANGULAR_H_
