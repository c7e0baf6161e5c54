// SPDX-License-Identifier: Apache-2.0
// Solutions of triangular systems, and their gradients.
#ifndef XLA_FFI_OPS_LINALG_TRIANGULAR_H_
#define XLA_FFI_OPS_LINALG_TRIANGULAR_H_

#include <cstdint>

#include "xla_ffi_ops/linalg/number.h"
#include "xla_ffi_ops/linalg/products.h"
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

// Solves op(A) x = b in place: x, [n, k], has b before. Either form reads rows
// of a: the distance of columns is a power of two for most sizes, and such
// lines compete for few places of the cache.
template <typename N, typename K, typename V>
XLA_FFI_OPS_HD void SolveTriangular(N n, K k, const Triangle& of, const V* a,
                                    V* x) {
  const auto at = [&](int64_t i) XLA_FFI_OPS_INLINED {
    return of.conjugate ? Conj(a[i]) : a[i];
  };
  const bool is_lower = of.IsLower();
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = is_lower ? step : n - 1 - step;
    // The columns of row i of a that are in the triangle.
    const int64_t begin = of.lower ? 0 : i + 1, end = of.lower ? i : int64_t(n);
    for (int64_t j = begin; !of.transpose && j < end; ++j) {
      SubtractRow(at(i * n + j), k, x + j * k, x + i * k);
    }
    if (!of.unit_diagonal) {
      const V scale = Reciprocal(at(i * n + i));
      for (int64_t c = 0; c < k; ++c) x[i * k + c] = Times(x[i * k + c], scale);
    }
    for (int64_t j = begin; of.transpose && j < end; ++j) {
      SubtractRow(at(i * n + j), k, x + i * k, x + j * k);
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
