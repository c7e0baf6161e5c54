// SPDX-License-Identifier: Apache-2.0
// Gaussian elimination with partial pivoting, and what is solved with its
// factors (Golub and Van Loan, Matrix Computations, section 3.4).
//
// Lanes choose different rows. So rows are exchanged by selections.
#ifndef XLA_FFI_OPS_LINALG_LU_LANES_H_
#define XLA_FFI_OPS_LINALG_LU_LANES_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/linalg/number.h"
#include "xla_ffi_ops/linalg/products.h"
#include "xla_ffi_ops/linalg/triangular.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::linalg {

// Which rows lanes have chosen: numbers of R.
template <typename R>
struct Pivoting {
  R* pivots;  // [min(m, n)]: the row that is exchanged with each, as LAPACK's
  R* order;   // [m]: the row that becomes each row of the factors
  math::Bits<R>* chosen;  // [m]: for the elimination alone
};

namespace internal {

// Each lane chooses the largest element of column t, of rows [t, m), as LAPACK
// does: of equal ones the first; no NaN, unless it is in row t. `first` is t.
// Leaves the bits of lanes that have chosen row i in found.chosen[i].
template <typename V>
XLA_FFI_OPS_HD void ChooseRow(int64_t m, int64_t n, int64_t t, Real<V> first,
                              const V* a, const Pivoting<Real<V>>& found) {
  using R = Real<V>;
  const R one = Splat<R>(1);
  // A vector counts: g++ 12 is slow at making one of each number.
  R most = Size(a[t * n + t]), row = first, counted = first + one;
  for (int64_t i = t + 1; i < m; ++i, counted += one) {
    const R size = Size(a[i * n + t]);
    const auto is_larger = size > most;
    most = Select(is_larger, size, most);
    row = Select(is_larger, counted, row);
  }
  found.pivots[t] = row;
  counted = first;
  for (int64_t i = t; i < m; ++i, counted += one) {
    found.chosen[i] = BitsOf<R>(row == counted);
  }
}

// Copies each lane's chosen row of a, of rows [t, m) of n.
template <typename V>
XLA_FFI_OPS_HD void CopyRow(int64_t m, int64_t n, int64_t t,
                            const math::Bits<Real<V>>* chosen, const V* a,
                            V* to) {
  constexpr int64_t kTogether = 4;  // A mask serves so many columns.
  int64_t j = 0;
  for (; j + kTogether <= n; j += kTogether) {
    V found[kTogether] = {};
    for (int64_t i = t; i < m; ++i) {
#pragma GCC unroll 4
      for (int64_t c = 0; c < kTogether; ++c) {
        found[c] = Or(found[c], Where(chosen[i], a[i * n + j + c]));
      }
    }
    for (int64_t c = 0; c < kTogether; ++c) to[j + c] = found[c];
  }
  for (; j < n; ++j) {
    V found{};
    for (int64_t i = t; i < m; ++i) {
      found = Or(found, Where(chosen[i], a[i * n + j]));
    }
    to[j] = found;
  }
}

}  // namespace internal

// Factors a, [m, n], which is overwritten: row t of `lu` has row t of L,
// without its diagonal of ones, and then row t of U. Of a pivot that is 0, the
// column of L is 0.
template <typename M, typename N, typename V>
XLA_FFI_OPS_HD void LuFactor(M m, N n, V* a, V* lu,
                             const Pivoting<Real<V>>& found) {
  using R = Real<V>;
  const R one = Splat<R>(1);
  const int64_t pivots = std::min<int64_t>(m, n);
  R here{};
  for (int64_t i = 0; i < m; ++i, here += one) found.order[i] = here;
  here = R{};
  for (int64_t t = 0; t < pivots; ++t, here += one) {
    internal::ChooseRow(m, n, t, here, a, found);
    const V* const row_t = a + t * n;
    V* const chosen = lu + t * n;
    internal::CopyRow(m, n, t, found.chosen, a, chosen);
    R order;
    internal::CopyRow(m, 1, t, found.chosen, found.order, &order);
    const V pivot = chosen[t];
    const auto is_zero = Size(pivot) == R{};
    const V scale =
        Reciprocal(Select(is_zero, FromReal<V>(Splat<R>(1)), pivot));
    for (int64_t i = t + 1; i < m; ++i) {
      V* const row = a + i * n;
      const auto bits = found.chosen[i];
      const V factor = Times(Choose(bits, row_t[t], row[t]), scale);
      for (int64_t j = 0; j < t; ++j) {
        row[j] = Choose(bits, row_t[j], row[j]);
      }
      row[t] = factor;
      for (int64_t j = t + 1; j < n; ++j) {
        const V x = Choose(bits, row_t[j], row[j]);
        row[j] = MulSub(factor, chosen[j], x);
      }
      found.order[i] = Choose(bits, found.order[t], found.order[i]);
    }
    found.order[t] = order;
  }
  for (int64_t i = pivots * n; i < m * n; ++i) lu[i] = a[i];
}

// Solves A x = b, [n, k], for the factors of A.
template <typename N, typename K, typename V>
XLA_FFI_OPS_HD void LuSolve(N n, K k, const V* lu, const Real<V>* order,
                            const V* b, V* x) {
  using R = Real<V>;
  for (int64_t t = 0; t < n; ++t) {  // P b
    for (int64_t j = 0; j < k; ++j) {
      V found = b[j];
      R counted = Splat<R>(1);
      for (int64_t i = 1; i < n; ++i, counted += Splat<R>(1)) {
        found = Select(order[t] == counted, b[i * k + j], found);
      }
      x[t * k + j] = found;
    }
  }
  SolveTriangular(n, k, {true, false, false, true}, lu, x);
  SolveTriangular(n, k, {false, false, false, false}, lu, x);
}

// Solves A^T x = b, [n, k], for the factors of A. b is overwritten.
template <typename N, typename K, typename V>
XLA_FFI_OPS_HD void LuSolveTransposed(N n, K k, const V* lu,
                                      const Real<V>* order, V* b, V* x) {
  using R = Real<V>;
  SolveTriangular(n, k, {false, true, false, false}, lu, b);
  SolveTriangular(n, k, {true, true, false, true}, lu, b);
  R counted{};
  for (int64_t i = 0; i < n; ++i, counted += Splat<R>(1)) {  // P^T b
    for (int64_t j = 0; j < k; ++j) {
      V found = b[j];
      for (int64_t t = 1; t < n; ++t) {
        found = Select(order[t] == counted, b[t * k + j], found);
      }
      x[i * k + j] = found;
    }
  }
}

}  // namespace xla_ffi_ops::linalg

#endif  // XLA_FFI_OPS_LINALG_LU_LANES_H_
